"""What the fork server imports last: from here on no collection looks at what it has imported.

One in a child would touch all of it, and so copy it page by page.
"""

import atexit
import gc

gc.collect()
gc.freeze()
# Else some libraries complain at the server's end that nobody frees what is theirs.
atexit.register(gc.unfreeze)
