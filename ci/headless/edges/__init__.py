"""Printed numbers that stand near an edge: another machine, which rounds a sum otherwise, would print other digits.

wrapping.py wraps, in a kernel, all that turns a number into text; probe.py is what is wrapped around it, and makes the
text of the number's neighbours too; numbers.py disturbs a number; run.py runs a solution so, and tells what was found.
"""
