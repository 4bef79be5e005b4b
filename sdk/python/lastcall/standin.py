"""Stand-in: the session that replaces that of a client that was closed or forked away.

Rules
  1. It is the session of `connect()`, once this process has called it, as long as that is open and
     uses the same socket. Otherwise it is the client's own, which sends nothing any more.
  2. A request brings along its endpoint as the client has registered it.

So everything that was decorated or handed out before a fork works in each child that connects.

Threads: any.
"""

from __future__ import annotations

import logging
import weakref
from typing import Optional

from .session import Session

_log = logging.getLogger("lastcall")
_shared: Optional[Session] = None
_complained: weakref.WeakSet[Session] = weakref.WeakSet()


def share(session: Session) -> None:
    """Makes it the session of `connect()` from now on."""
    global _shared
    _shared = session


def session_for(own: Session) -> Session:
    if not own.is_over or _shared is None or _shared.is_over or _shared.path != own.path:
        return own
    return _shared


def session_to_begin(own: Session, endpoint: Optional[str]) -> Session:
    """Like `session_for`, for a request of that endpoint."""
    session = session_for(own)
    if session is own:
        if own.is_over and own.enabled and own not in _complained:
            _complained.add(own)
            _log.warning("a request began on a closed client: no supervisor receives it")
    elif endpoint in own.endpoints and endpoint not in session.endpoints:
        session.set_endpoint(endpoint, own.endpoints[endpoint])
    return session
