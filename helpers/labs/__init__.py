"""One module a lab: its exercises with their properties, wrong answers and hints."""

import sys

if "ipykernel" in sys.modules:  # in a notebook the first check should not wait for a fork server
    from helpers.children import prepare

    prepare()
