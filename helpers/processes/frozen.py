"""What the fork server imports last: from here on its children share what it has imported, and copy little of it.

A collection in a child would touch all of it, and so copy it page by page.
"""

import atexit
import gc

from helpers.processes import huge_pages

# Garbage, too: imports leave little, and to look for it among all that is here takes 0.2 s.
gc.freeze()
gc.enable()  # `uncollected`, the first, has stopped it
huge_pages.collapse_before_fork(huge_pages.WORTH_IT)
# Else some libraries complain at the server's end that nobody frees what is theirs.
atexit.register(gc.unfreeze)
