"""RequestScope: a request as a block, for threads (`with`) and for asyncio (`async with`).

Rules
  1. Nothing happens before the block is entered; a request that was begun is always ended.
  2. A wait for admission that fails for any reason, even a cancelled task, withdraws the request.
  3. Without a parent of its own it is a sub-request of the request that the code there works on.
"""

from __future__ import annotations

import asyncio
from typing import Optional, Union

from . import current, loops, wire
from .context import Context
from .entry import Admission, Entry
from .errors import ExitError, ExitKind, ExitTrace, Rejected
from .ledger import Ledger


class RequestScope:
    """The result of `Client.request`; see there and at `Client.begin` for the arguments."""

    def __init__(
        self,
        ledger: Ledger,
        id: Optional[str],
        endpoint: Optional[str],
        model: Optional[str],
        stream: Optional[bool],
        root: Optional[str],
        parent: Union[Context, str, None],
        admit: bool,
        priority: Optional[int],
        way: Optional[str] = None,
    ) -> None:
        self._ledger = ledger
        self._parent = parent
        if isinstance(parent, str):
            wire.check_id(parent)
        self._id = id
        self._endpoint = None if endpoint is None else wire.check_id(endpoint, "endpoint")
        self._model = None if model is None else wire.clip_name(model)
        self._stream = None if stream is None else bool(stream)  # it may be a client's JSON
        self._root = root
        self._admit = admit
        self._priority = None if priority is None else wire.check_priority(priority)
        self._way = None if way is None else wire.read_way(way)
        self._context: Optional[Context] = None

    def __enter__(self) -> Context:
        # Without a socket there is no wait, but then the error would come only in the pod.
        if self._admit and loops.is_here():
            raise RuntimeError(
                "cannot wait for admission here: it would block the event loop; "
                "use 'async with client.request(...)' or 'await client.begin_async(...)'"
            )
        context, admission = self._start()
        if admission is not None:
            try:
                admission.result()
            except BaseException as error:
                _withdraw(context, error)
                raise
        return context

    async def __aenter__(self) -> Context:
        if self._admit:  # without a socket, too, as above
            loops.running()
        context, admission = self._start()
        if admission is not None:
            try:
                await asyncio.wrap_future(admission)
            except BaseException as error:
                _withdraw(context, error)
                raise
        return context

    def __exit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        if self._context is not None:
            self._context.__exit__(kind, error, trace)

    async def __aexit__(self, kind: ExitKind, error: ExitError, trace: ExitTrace) -> None:
        self.__exit__(kind, error, trace)

    def _start(self) -> tuple[Context, Optional[Admission[bool]]]:
        if self._admit and self._ledger.is_received_here():
            raise RuntimeError(
                "cannot wait for admission in a callback on the client's own thread, which would "
                "have to receive the answer; begin the request on a thread of the program"
            )
        parent = self._parent if self._parent is not None else current.parent()
        root, parent_id = self._root, None if isinstance(parent, Context) else parent
        if isinstance(parent, Context):
            root, parent_id = root or parent.root, parent.id()
        self._context = context = Context(self._id, root=root, owner=self._ledger)
        entry = Entry(context, self._endpoint, self._model, self._stream, parent_id,
                      self._priority, self._way)  # fmt: skip
        admission = self._ledger.begin(entry, self._admit)
        if isinstance(parent, Context):
            parent.link_child(context)  # so that the parent's cancel also cancels the wait
        return context, admission


def _withdraw(context: Context, error: BaseException) -> None:
    if isinstance(error, Rejected):
        context.end("rejected")
    else:
        context.end(None if context.is_stopped() else "cancelled")
