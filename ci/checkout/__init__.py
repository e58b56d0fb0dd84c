"""A checkout: set up, tested, looked through."""
