"""`python -m ci.record [NAME ...]`: `labbook record` without the packages that the command needs."""

import argparse
import sys

from ci.record import command
from helpers import paths

parser = argparse.ArgumentParser(prog="python -m ci.record", description=command.__doc__.splitlines()[0])
parser.add_argument("names", nargs="*", metavar="NAME")
parser.add_argument("--list", action="store_true", dest="listed")
parser.add_argument("--commit", default="")
given = parser.parse_args()
sys.exit(command.record(paths.ROOT, given.names, listed=given.listed, commit=given.commit))
