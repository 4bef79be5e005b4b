"""The facts that the ASGI middleware reads from a request: its path, its model, its ids."""

from __future__ import annotations

import hmac
import json
import os
from typing import Any, MutableMapping, Optional

from . import outgoing, wire
from .client import Client

Scope = MutableMapping[str, Any]


def path_of(scope: Scope) -> str:
    path, root = scope["path"], scope.get("root_path", "")
    return str(path[len(root) :] if root and path.startswith(root + "/") else path)


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    return {bytes(name).lower(): bytes(value) for name, value in scope.get("headers", ())}


def is_own_probe(scope: Scope, mark: Optional[str]) -> bool:
    """Whether it is the supervisor's own request for one token, which is not counted.

    It carries the mark that the supervisor gave this process, wherever it comes from: with anything
    less secret, a client could keep its requests out of the counts. A supervisor that gave no mark
    sends only "1" and is on the same host; the ingress removes the field from requests that it
    relays.
    """
    fields = scope.get("headers", ())
    given = next((bytes(value) for name, value in fields if name == b"x-lastcall-probe"), None)
    if given is None or mark is not None:
        return given is not None and hmac.compare_digest(given, (mark or "").encode())
    host = str((scope.get("client") or ("",))[0])
    return host.startswith(("127.", "::ffff:127.")) or host == "::1"


def is_short_json(headers: dict[bytes, bytes], limit: int) -> bool:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    length = headers.get(b"content-length", b"0")
    is_json = kind == b"application/json" or kind.endswith(b"+json")
    return is_json and limit > 0 and length.isdigit() and int(length) <= limit


def read_body(body: bytes) -> tuple[Optional[str], Optional[bool]]:
    """Model and stream of an OpenAI request; the application refuses what cannot be read."""
    try:
        read = json.loads(body) if body else None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        return None, None
    model = read.get("model")
    return model if isinstance(model, str) and model else None, read.get("stream") is True


def id_of(headers: dict[bytes, bytes], name: str) -> Optional[str]:
    value = outgoing.from_header(headers.get(name.lower().encode(), b"").decode("latin-1"))
    try:
        return wire.check_id(value)
    except ValueError:
        return None


def channel_of(headers: dict[bytes, bytes]) -> Optional[str]:
    """The secret with which a tier above may stop this call; one that can be guessed is ignored."""
    value = headers.get(outgoing.CHANNEL.lower().encode(), b"").decode("latin-1")
    return value if 32 <= len(value) <= wire.MAX_ID and value.isalnum() else None


def parent_of(headers: dict[bytes, bytes], request_id: str) -> Optional[str]:
    parent = id_of(headers, outgoing.PARENT)
    return parent if parent != request_id else None


def way_of(headers: dict[bytes, bytes]) -> str:
    """The mark by which the ingress recognises its requests; "0" if it did not come through it."""
    return wire.read_way(headers.get(b"x-lastcall-way", b"").decode("latin-1"))


def free_id(client: Client, headers: dict[bytes, bytes]) -> str:
    """The client's id for the request if it is valid, with a suffix if such a request is live."""
    try:
        wanted = wire.check_id(headers.get(b"x-request-id", b"").decode("latin-1"))
    except ValueError:
        return new_id()
    if client.find(wanted) is None:
        return wanted
    suffixed = f"{wanted}-{os.urandom(4).hex()}"
    return suffixed if len(suffixed.encode()) <= wire.MAX_ID else new_id()


def new_id() -> str:
    return os.urandom(16).hex()


def with_id(scope: Scope, request_id: str) -> list[tuple[bytes, bytes]]:
    """The headers with the request's id, so that the application's logs and ours use the same
    id."""
    headers = scope.get("headers", ())
    others = [(name, value) for name, value in headers if name.lower() != b"x-request-id"]
    return [*others, (b"x-request-id", request_id.encode("latin-1"))]
