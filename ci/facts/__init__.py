"""`labbook facts`: the facts of the labs, checked on the installed torch."""
