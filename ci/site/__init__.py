"""The published pages: the solutions as they are stored, made into a static site that asks nothing of other machines.

`python -m ci.site`, behind `make site`: environment.py installs the tool, pages.py prepares what it reads, build.py
runs it and puts the new pages in the place of the old ones. Nothing is executed.
"""
