"""Notebooks run without a person: each a job in a process of its own, watched, compared or stored."""
