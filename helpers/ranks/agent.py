"""torchrun that ends, with all its ranks, when the process that started it ends: it holds our standard input."""

from __future__ import annotations

import os
import sys
import threading

from torch.distributed.run import main

from helpers.processes.process_tree import end_tree


def _end_with_parent() -> None:
    while os.read(0, 1):  # nothing comes; it ends when the other end is closed, by its owner or by its death
        pass
    end_tree(os.getpid())


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    main(sys.argv[1:])
