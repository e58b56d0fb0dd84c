"""Deriving, running, validating and measuring the notebooks of the course."""

import sys

# nbformat imports jsonschema, which imports this where it is installed, to judge the form of addresses. It takes
# three quarters of the CPU time of a job's imports, anew in each job, and no check of a notebook asks for it.
NOT_IMPORTED = "rfc3987_syntax"
sys.modules.setdefault(NOT_IMPORTED, None)  # so that importing it fails, as where it is not installed
