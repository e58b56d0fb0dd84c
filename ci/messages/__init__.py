"""`labbook messages`: what the checks say of every known mistake, kept so that a person reads it when it changes."""
