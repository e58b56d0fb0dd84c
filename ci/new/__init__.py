"""`labbook new`: the files of an exercise that is to be written."""
