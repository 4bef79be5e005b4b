"""The one client that a process shares."""

from __future__ import annotations

import os
from typing import Any, Optional

from . import spawned
from .client import Client
from .errors import LastcallError

_shared: Optional[tuple[int, Client, dict[str, Any]]] = None  # pid, client, its options


def connect(name: Optional[str] = None, **options: Any) -> Client:
    """The process's one client, made by the first call (see `Client` for the options).

    Later calls without options return it, and other options are refused. A forked child gets one
    of its own.
    """
    global _shared
    if name is not None:
        options["name"] = name
    if _shared is None or _shared[0] != os.getpid():
        _shared = (os.getpid(), Client(**options), options)
    elif options and options != _shared[2]:
        raise LastcallError(
            f"cannot connect with {options}: this process is connected with {_shared[2]} already"
        )
    elif options.get("critical") and not spawned.is_being_imported():
        _shared[1]._become_critical(options.get("report_uncaught"))
    return _shared[1]
