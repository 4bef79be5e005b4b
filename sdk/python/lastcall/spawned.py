"""Whether multiprocessing is just starting this process.

The start methods spawn and forkserver import the program's main module again in each child, before
its target runs: what stands at the top of that module was not said of the child.
"""

from __future__ import annotations

import sys


def is_being_imported() -> bool:
    # Never imported for this: a child of multiprocessing has it loaded.
    module = sys.modules.get("multiprocessing.process")
    current = getattr(module, "current_process", None)
    return current is not None and bool(getattr(current(), "_inheriting", False))
