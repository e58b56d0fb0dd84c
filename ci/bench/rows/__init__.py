"""The rows of `labbook bench`, a module each; every module here is found."""
