"""What the rows of `labbook bench` share: rounds, commands that are timed, a copy of the project, the plain tools."""
