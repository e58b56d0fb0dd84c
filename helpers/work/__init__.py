"""The learner's copies in work/: made once, updated, reset, taken back. Nothing that a learner wrote is ever lost.

writing   a file is replaced whole, and only if it is still the one that was read
notebook  a notebook as plain data
copies    the copy of a lab, and the lab that it was made from (its base)
page      the list of labs on the start page
opened    what is open in JupyterLab
backups   what stood there before a command, and what the command did
merge     a newer lab into a copy; lost_lines: what a merge would lose
commands  what update, reset and undo have in common
serve     JupyterLab
"""
