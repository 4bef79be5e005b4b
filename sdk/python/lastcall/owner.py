"""Owner: what a context reports to the client that began it. The base class is of no client.

Threads: called on whichever thread acts on the context, with no lock held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AbstractSet, Sequence

if TYPE_CHECKING:
    from .context import Context


class Owner:
    def raised(self, contexts: Sequence[Context], notified: AbstractSet[str]) -> None:
        """These rose; the supervisor already knows of those in `notified`."""

    def ended(self, context: Context, outcome: str) -> None:
        """The request is over."""

    def confirmed(self, context: Context) -> None:
        """The engine has let go of a cancelled request that is not over yet."""

    def progress(self, request_id: str) -> None:
        """The request moved."""

    def tracks(self, context: Context) -> bool:
        """It is one of its live requests, in this process."""
        return False


NOBODY = Owner()
