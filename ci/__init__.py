"""Deriving, running, validating and measuring the notebooks of the course."""
