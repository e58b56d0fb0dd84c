"""What the fork server imports last: from here on its children share what it has imported, and copy little of it.

A collection in a child would touch all of it, and so copy it page by page.
"""

import atexit
import gc

from helpers.processes import huge_pages

gc.collect()
gc.freeze()
gc.enable()  # `uncollected`, the first, has stopped it
huge_pages.collapse()
# Else some libraries complain at the server's end that nobody frees what is theirs.
atexit.register(gc.unfreeze)
