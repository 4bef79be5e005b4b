"""The requests that the ASGI middleware tracks, and their names: the defaults, and the environment
variables that change them."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import Mapping, Optional, TypeVar

from . import wire
from .errors import InvalidArgument

# The names that Dynamo's frontend gives the endpoints of these APIs.
KNOWN_PATHS = {
    "/v1/chat/completions": "chat_completions",
    "/v1/completions": "completions",
    "/v1/embeddings": "embeddings",
    "/v1/images/generations": "images",
    "/v1/images/edits": "images",
    "/v1/videos": "videos",
    "/v1/videos/generations": "videos",
    "/v1/audio/speech": "audios",
    "/v1/audio/transcriptions": "audios",
    "/v1/audio/translations": "audios",
    "/v1/responses": "responses",
    "/v1/messages": "anthropic_messages",
    "/generate": "generate",
}
OVERLOAD_STATUSES = (503, 529, 429)
OTHER = "other"  # naming every path that clients request would make an unbounded label


# Engines whose core and workers are processes of their own, without which the server is useless.
MULTI_PROCESS_ENGINES = ("vllm", "sglang", "tensorrt_llm")


def is_multi_process_engine() -> bool:
    """Whether this process has loaded one of these engines."""
    return any(name in sys.modules for name in MULTI_PROCESS_ENGINES)


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of `Middleware`; `from_environment` reads the LASTCALL_ASGI_* variables.

    endpoints   path: endpoint, in addition to the known ones; tracked whatever the method is
    ignore      paths that are never tracked; one that ends in "*" is a prefix
    hand_off    endpoints that a drain does not wait for: their requests are handed off (`migrate`)
    admit       ask the supervisor before a request runs
    overload_status  HTTP status of a refusal for lack of capacity: 503, 529 or 429
    peek_bytes  the longest JSON body from which the model is read; 0 reads none
    critical    connect as `lastcall.connect(critical=True)` does, if no client is given; None: if
                the engine in this process is known to have other processes
    """

    endpoints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    hand_off: tuple[str, ...] = ()
    admit: bool = True
    peek_bytes: int = 1024 * 1024
    overload_status: int = 503
    critical: Optional[bool] = None

    def __post_init__(self) -> None:
        for path, name in self.endpoints.items():
            wire.check_id(name, "endpoint")
            _check_path(path, "endpoints")
        for path in self.ignore:
            _check_path(path, "ignore")
        if self.overload_status not in OVERLOAD_STATUSES:
            raise InvalidArgument(
                f"overload_status: {self.overload_status}: expected 503, 529 or 429"
            )
        unknown = sorted(set(self.hand_off) - set(self.names()))
        if unknown:
            known = ", ".join(self.names())
            raise InvalidArgument(f"hand_off: {unknown[0]!r}: expected one of {known}")

    @classmethod
    def from_environment(cls, environment: Optional[Mapping[str, str]] = None) -> Options:
        """Raises an InvalidArgument that names the variable, its value and what was expected."""
        given = os.environ if environment is None else environment
        try:
            return cls(
                endpoints=_pairs(given, "LASTCALL_ASGI_ENDPOINTS"),
                ignore=_words(given, "LASTCALL_ASGI_IGNORE"),
                hand_off=_words(given, "LASTCALL_ASGI_HAND_OFF"),
                admit=_flag(given, "LASTCALL_ASGI_ADMIT", cls.admit),
                peek_bytes=_number(given, "LASTCALL_ASGI_PEEK_BYTES", cls.peek_bytes),
                overload_status=_number(
                    given, "LASTCALL_ASGI_OVERLOAD_STATUS", cls.overload_status, "a status"
                ),
                critical=_flag(given, "LASTCALL_ASGI_CRITICAL", cls.critical),
            )
        except ValueError as error:
            field, _, what = str(error).partition(": ")
            is_field = any(field == each.name for each in dataclasses.fields(cls))
            name = f"LASTCALL_ASGI_{field.upper()}" if is_field else field
            raise InvalidArgument(f"lastcall.asgi: {name}: {what}") from None

    def names(self) -> list[str]:
        """The names of all endpoints that requests may have."""
        return list(dict.fromkeys([*KNOWN_PATHS.values(), *self.endpoints.values(), OTHER]))

    def endpoint_of(self, method: str, path: str) -> Optional[str]:
        """None for a request that is not tracked: probes, scrapes, pages, and paths that are
        configured to be ignored."""
        if any(_matches(path, each) for each in self.ignore):
            return None
        if path in self.endpoints:
            return self.endpoints[path]
        return KNOWN_PATHS.get(path, OTHER) if method == "POST" else None


def _check_path(path: str, field: str) -> None:
    if not path.startswith("/"):
        raise InvalidArgument(f"{field}: {path!r}: expected a path that begins with '/'")


def _matches(path: str, pattern: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _words(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(word for each in given.get(name, "").split(",") if (word := each.strip()))


def _pairs(given: Mapping[str, str], name: str) -> dict[str, str]:
    pairs = {}
    for word in _words(given, name):
        path, equals, endpoint = (part.strip() for part in word.partition("="))
        if not (path and equals and endpoint):
            raise InvalidArgument(f"{name}: {word!r}: expected /path=endpoint")
        pairs[path] = endpoint
    return pairs


Default = TypeVar("Default", bool, Optional[bool])


def _flag(given: Mapping[str, str], name: str, default: Default) -> Default:
    text = given.get(name, "").strip().lower()
    if text in ("", "true", "1", "false", "0"):
        return text in ("true", "1") if text else default
    raise InvalidArgument(f"{name}: {text!r}: expected true or false")


def _number(
    given: Mapping[str, str], name: str, default: int, what: str = "a number of bytes"
) -> int:
    text = given.get(name, "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise InvalidArgument(f"{name}: {text!r}: expected {what}")
    return int(text) if text else default
