"""The client that all code of a process shares."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import spawned, standin, uncaught
from .client import Client
from .errors import LastcallError

Made = tuple[int, Client, dict[str, Any]]  # pid, client, its options

_shared: Optional[Made] = None
_NOT_GIVEN: Any = object()


def connect(
    name: Optional[str] = None,
    *,
    socket: Union[str, os.PathLike[str], None] = _NOT_GIVEN,
    critical: bool = _NOT_GIVEN,
    report_uncaught: Optional[uncaught.Choice] = _NOT_GIVEN,
) -> Client:
    """The process's shared client, made by the first call (see `Client` for the options).

    Later calls without options return it, and different options are refused. A forked child gets a
    client of its own. After a close the next call makes a new client, with the same options unless
    others are given; everything that was made with the old one, including its handlers, then uses
    the new one.
    """
    global _shared
    options = _given(socket=socket, critical=critical, report_uncaught=report_uncaught)
    if name is not None:
        options["name"] = name
    if _shared is None or _shared[0] != os.getpid():
        _shared = _made(options)
    elif _shared[1]._own.is_over:
        _shared = _made(options or _shared[2])
    elif options and options != _shared[2]:
        raise LastcallError(
            f"cannot connect with {options}: this process is connected with {_shared[2]} already"
        )
    elif options.get("critical") and not spawned.is_being_imported():
        _shared[1]._become_critical(options.get("report_uncaught"))
    return _shared[1]


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not _NOT_GIVEN}


def _made(options: dict[str, Any]) -> Made:
    client = Client(**options)
    standin.share(client._own)
    return os.getpid(), client, options
