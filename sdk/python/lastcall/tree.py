"""The cancellation tree: walks over linked contexts, and the one lock that guards all trees.

Rules
  1. Walks are loops, because users' graphs may have any depth.
  2. A child's state is never below its parent's, so a walk stops where the level is already
     reached.
  3. A context stays linked while it is unfinished or has an unfinished child below it, because the
     child still has to receive cancels from further up.

Threads: every function requires that `lock` is held.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context

LIVE, STOPPED, KILLED = 0, 1, 2

# It is re-entrant, because a signal handler may cancel on the thread that holds it.
lock = threading.RLock()


def _before_fork() -> None:
    lock.acquire()


# A child process must not inherit the lock from a thread that does not exist there.
os.register_at_fork(
    before=_before_fork, after_in_parent=lock.release, after_in_child=lock.release
)


def below(top: Context, level: int) -> list[Context]:
    """The contexts whose state rises to `level` with `top`: children before parents, in link
    order."""
    if not top._children:
        return [top]
    order: list[Context] = []
    seen = {top}
    stack = [(top, iter(tuple(top._children)))]
    while stack:
        node, children = stack[-1]
        for child in children:
            if child._state < level and child not in seen:
                seen.add(child)
                stack.append((child, iter(tuple(child._children))))
                break
        else:
            stack.pop()
            order.append(node)
    return order


def reaches(start: Context, goal: Context) -> bool:
    seen = {start}
    todo = [start]
    while todo:
        node = todo.pop()
        if node is goal:
            return True
        fresh = [child for child in node._children if child not in seen]
        seen.update(fresh)
        todo.extend(fresh)
    return False


def cause_above(start: Context) -> str:
    """The first reason other than "parent" up the tree; "parent" if the cancel began elsewhere."""
    seen = {start}
    todo = [start]
    while todo:
        node = todo.pop()
        if node._cause not in (None, "parent"):
            return str(node._cause)
        above = [parent for parent in (ref() for ref in node._parents) if parent is not None]
        fresh = [parent for parent in above if parent not in seen]
        seen.update(fresh)
        todo.extend(fresh)
    return "parent"


def leave(start: Context) -> None:
    """Unlinks finished contexts without unfinished ones below them, from `start` upwards."""
    todo = [start]
    while todo:
        node = todo.pop()
        if node._outcome is None or node._children:
            continue
        parents = [parent for parent in (ref() for ref in node._parents) if parent is not None]
        node._parents.clear()
        for parent in parents:
            parent._children.pop(node, None)
        todo.extend(parents)
