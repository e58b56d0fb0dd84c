"""`labbook bench`: rows that measure, and what times them."""
