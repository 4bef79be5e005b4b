"""Decides what an engine's error shows about the engine: nothing, or that it may have died.

The rules are those of lastcall's own proxy; tests/contract/engine_errors.jsonl tests both.
"""

from __future__ import annotations

import enum
import json
import re
from typing import Any, Mapping, Optional

_LINE_END = re.compile(rb"\r\n|\r|\n")
# Statuses for things that a server does not support show nothing about its engine.
_COMPLETE_STATUS = frozenset((501, 505))
_SERVER_ERROR = 500


class EngineError(enum.Enum):
    NONE = "none"  # no error
    COMPLETE = "complete"  # it concerns only this request, or it states itself whether to retry
    SUSPECT = "suspect"  # the engine may be dead


def error_of_event(event: bytes) -> EngineError:
    """`event` is one server-sent event, with or without the empty line at its end."""
    lines = (line for line in _LINE_END.split(event) if line.startswith(b"data:"))
    try:
        data = json.loads(b"\n".join(line[5:] for line in lines))
    except ValueError:
        return EngineError.NONE
    if not isinstance(data, dict):
        return EngineError.NONE
    if "error" not in data:  # the event is named `error`
        return _of_object(data) if data.get("type") == "error" else EngineError.NONE
    error = data["error"]
    if isinstance(error, dict):
        return _of_object(error)
    return EngineError.SUSPECT if isinstance(error, str) else EngineError.NONE


def error_of_answer(status: int, headers: Mapping[bytes, bytes]) -> EngineError:
    """The names in `headers` are in lower case."""
    if status < _SERVER_ERROR:
        return EngineError.NONE
    is_refusal = b"retry-after" in headers or b"x-lastcall-reason" in headers
    return EngineError.COMPLETE if is_refusal or status in _COMPLETE_STATUS else EngineError.SUSPECT


def _of_object(error: Mapping[str, Any]) -> EngineError:
    if "retryable" in error:
        return EngineError.COMPLETE
    code = error.get("code")
    if code is None:
        is_requests = _blames_the_request(error.get("type"))
        return EngineError.COMPLETE if is_requests else EngineError.SUSPECT
    number = _number(code)
    is_server = number is not None and number >= _SERVER_ERROR
    return EngineError.SUSPECT if is_server else EngineError.COMPLETE


def _number(code: object) -> Optional[int]:
    """The code as a number, even if it is written as a text; a word is not a server's code."""
    if isinstance(code, int) and not isinstance(code, bool):
        return code
    return int(code) if isinstance(code, str) and code.isascii() and code.isdigit() else None


def _blames_the_request(kind: object) -> bool:
    return isinstance(kind, str) and ("invalid_request" in kind or "BadRequest" in kind)
