"""The course and how far somebody has come in it. Needs no torch."""
