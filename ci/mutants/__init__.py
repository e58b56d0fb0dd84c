"""`labbook mutants`: right answers with one edit each; a check that lets one pass must have a reason for it."""
