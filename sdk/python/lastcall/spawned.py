"""Whether multiprocessing is just starting this process.

The start methods spawn and forkserver import the program's main module again in each child, before
its target runs: what is written at the top of that module was not meant for the child.
"""

from __future__ import annotations

import sys


def is_being_imported() -> bool:
    # It is never imported for this: a child of multiprocessing has it loaded.
    module = sys.modules.get("multiprocessing.process")
    current = getattr(module, "current_process", None)
    return current is not None and bool(getattr(current(), "_inheriting", False))
