"""Owner: receives what a context reports to the client that began it. The base class ignores it.

Threads: called on whichever thread acts on the context, with no lock held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AbstractSet, Sequence

if TYPE_CHECKING:
    import asyncio

    from .context import Context


class Owner:
    def raised(self, contexts: Sequence[Context], notified: AbstractSet[str]) -> None:
        """The state of these contexts rose; the supervisor already knows of those in `notified`."""

    def ended(self, context: Context, outcome: str) -> None:
        """The request is over."""

    def confirmed(self, context: Context) -> None:
        """The engine has stopped working on a cancelled request that has not ended yet."""

    def awaited_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Something on this loop, which runs on this thread, waits for a cancel."""

    def progress(self, request_id: str) -> None:
        """The request made progress."""

    def tracks(self, context: Context) -> bool:
        """Whether it is one of the client's live requests, in this process."""
        return False


NOBODY = Owner()
