"""A notebook as a file: read, written, brought into one form, derived."""
