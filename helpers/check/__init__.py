"""The check of an answer: run where it can do no harm, held against properties, known mistakes named. It knows no report."""
