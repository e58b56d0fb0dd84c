"""Processes: started from the fork server, ended with all that they started, sent objects by value."""
