"""Finds out whether multiprocessing is just starting this process.

The start methods spawn and forkserver import the program's main module again in each child, before
its target runs: the code at the top of that module is not meant for the child.
"""

from __future__ import annotations

import sys


def is_being_imported() -> bool:
    # The module is not imported for this: a child of multiprocessing has already loaded it.
    module = sys.modules.get("multiprocessing.process")
    current = getattr(module, "current_process", None)
    return current is not None and bool(getattr(current(), "_inheriting", False))
