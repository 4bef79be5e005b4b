"""The wire format of the lastcall socket: one JSON object per line, in UTF-8 (docs/ipc.md).

Rules
  1. The module is pure: bytes in, values out. It has no socket, no clock, and no state except the
     unfinished line.
  2. It never produces a line longer than `MAX_LINE`; a longer incoming line is an error.
  3. The closed sets of the protocol are defined only here; all other modules import them.
"""

from __future__ import annotations

import json
import operator
import re
from typing import Any, Iterable, Iterator

from .errors import InvalidArgument

VERSION = 1
MAX_LINE = 64 * 1024  # without the newline
MAX_ID = 256  # bytes of an id or a name
MAX_PRIORITY = 7  # the least urgent
MAX_COUNT = 10**15

PHASES = frozenset(
    ("starting", "serving", "deregistering", "draining", "drained", "cleaning_up", "exited")
)
MODES = frozenset(("stop", "kill"))
REASONS = frozenset(
    (
        "client_disconnect",
        "control",
        "connection_lost",
        "parent",
        "operator",
        "migrate",
        "grace_timeout",
        "engine_dead",
    )
)
OUTCOMES = frozenset(
    ("completed", "cancelled", "migrated", "error", "rejected", "lost", "engine_dead")
)
REFUSALS = frozenset(("draining", "overloaded", "queue_timeout"))
HEALTH = frozenset(("healthy", "busy", "dead"))

Message = dict[str, Any]

# Used directly, because json.loads takes nearly twice as long for a short line.
_decoder = json.JSONDecoder()
_WAY = re.compile("[0-9a-fA-F]{1,16}")
_SPACES = " \t\r\n"  # RFC 8259, section 2


class WireError(Exception):
    """A line is not valid. `code` is one of the protocol's error codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def encode(op: str, **fields: Any) -> bytes:
    """Encodes one line. Fields that are None are left out."""
    message: Message = {"op": op}
    message.update((key, value) for key, value in fields.items() if value is not None)
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "replace")
    if len(line) > MAX_LINE:
        raise WireError("too_long", f"cannot send {op}: {len(line)} bytes, at most {MAX_LINE}")
    return line + b"\n"


def encode_ids(op: str, ids: Iterable[str], **fields: Any) -> Iterator[bytes]:
    """Encodes `ids` in as many lines as necessary, each within the limit."""
    room = MAX_LINE - len(encode(op, ids=[], **fields))
    batch: list[str] = []
    used = 0
    for request_id in ids:
        size = len(json.dumps(request_id, ensure_ascii=False).encode("utf-8", "replace")) + 1
        if used + size > room:
            yield encode(op, ids=batch, **fields)
            batch, used = [], 0
        batch.append(request_id)
        used += size
    if batch:
        yield encode(op, ids=batch, **fields)


def encode_clipped(op: str, key: str, text: str, **fields: Any) -> bytes:
    """Encodes one line in which `text` may be long: only its end is kept, where a traceback has its
    message."""
    keep = MAX_LINE // 4
    while True:
        clipped = text if len(text) <= keep else "[...] " + text[-keep:]
        try:
            return encode(op, **{key: clipped}, **fields)
        except WireError:
            if keep < 64:
                raise
            keep //= 2


def decode(line: bytes) -> Message:
    try:
        text = line.decode("utf-8").strip(_SPACES)
        message, end = _decoder.raw_decode(text)
        if end != len(text):
            raise ValueError(f"extra data at character {end}")
    except (ValueError, RecursionError) as error:
        raise WireError("bad_json", f"cannot read the line: {error}") from None
    if not isinstance(message, dict):
        raise WireError("bad_json", "cannot read the line: expected a JSON object")
    if not isinstance(message.get("op"), str):
        raise WireError("bad_field", "op: expected a string")
    return message


def check_id(text: object, what: str = "request id") -> str:
    """Returns the text if it may be sent as an id, otherwise raises InvalidArgument."""
    if not isinstance(text, str) or not text:
        raise InvalidArgument(f"cannot use this {what}: expected a non-empty string")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgument(f"cannot use this {what}: expected valid UTF-8") from None
    if size > MAX_ID:
        raise InvalidArgument(f"cannot use this {what}: {size} bytes, at most {MAX_ID}")
    return text


def check_priority(priority: object) -> int:
    if type(priority) is not int or not 0 <= priority <= MAX_PRIORITY:
        raise InvalidArgument(f"cannot use the priority {priority!r}: expected 0 to {MAX_PRIORITY}")
    return priority


def read_way(text: object) -> str:
    """The value of an `X-Lastcall-Way`; "0", for no ingress, if no ingress can have sent it."""
    if not isinstance(text, str):
        raise InvalidArgument(f"cannot use the way {text!r}: expected the text of the header")
    return text if _WAY.fullmatch(text) else "0"


def check_count(number: Any, what: str) -> int:
    """Returns a whole number of any type, such as numpy's, as an int; otherwise raises
    InvalidArgument."""
    try:
        count = operator.index(number)
    except TypeError:
        count = -1
    if not 0 <= count <= MAX_COUNT:
        raise InvalidArgument(
            f"cannot use the {what} {number!r}: expected a whole number, 0 to {MAX_COUNT}"
        )
    return count


def clip_name(text: str) -> str:
    """Shortens a name for people and labels: one that is too long (a model's path) loses its
    start."""
    if not isinstance(text, str):
        raise InvalidArgument(f"cannot use the name {text!r}: expected a string")
    if len(text) * 4 <= MAX_ID:
        return text
    return text.encode("utf-8", "replace")[-MAX_ID:].decode("utf-8", "ignore")


def check_word(word: str, allowed: frozenset[str], what: str) -> str:
    if word not in allowed:
        known = ", ".join(sorted(allowed))
        raise InvalidArgument(f"cannot use the {what} {word!r}: expected one of {known}")
    return word


def known_word(word: str, known: frozenset[str], unknown: str) -> str:
    """The word, or `unknown` for a word of a newer supervisor (docs/ipc.md, 'Closed sets')."""
    return word if word in known else unknown


def field(message: Message, key: str, kind: type) -> Any:
    """Returns a required field of the given type, otherwise raises a `bad_field` error that names
    it."""
    value = message.get(key)
    # bool is an int to Python, but not to JSON.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WireError("bad_field", f"{message['op']}.{key}: expected {kind.__name__}")
    return value


def optional_field(message: Message, key: str, kind: type) -> Any:
    return None if message.get(key) is None else field(message, key, kind)


class LineReader:
    """Splits a byte stream into lines; memory is bounded by one line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE or any(len(line) > MAX_LINE for line in lines):
            raise WireError("too_long", f"a line has more than {MAX_LINE} bytes")
        return [line for line in lines if line.strip()]
