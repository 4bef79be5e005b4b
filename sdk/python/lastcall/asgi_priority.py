"""How urgent a request is according to its client: the `u` of its Priority field.

Source: RFC 9218, section 4.1 (the field), and RFC 8941, section 3.2 (its syntax is a dictionary;
several fields count as one, and the last of several `u` counts).
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Optional

_URGENCY = re.compile(rb"u=0*([0-7])")


def priority_of(headers: Iterable[tuple[bytes, bytes]]) -> Optional[int]:
    """0 is the most urgent, 7 the least; None if the client sends no valid priority."""
    priority: Optional[int] = None
    for name, value in headers:
        if bytes(name).lower() != b"priority":
            continue
        for member in _members(bytes(value)):
            item = member.strip(b" \t").partition(b";")[0]  # without parameters
            if item.partition(b"=")[0] == b"u":
                given = _URGENCY.fullmatch(item)
                priority = int(given[1]) if given else None
    return priority


def _members(dictionary: bytes) -> Iterator[bytes]:
    """Splits at commas, but not at those in strings and inner lists."""
    start = depth = 0
    in_string = is_escaped = False
    for at, byte in enumerate(dictionary):
        if is_escaped:
            is_escaped = False
        elif in_string:
            is_escaped = byte == ord("\\")
            in_string = byte != ord('"')
        elif byte == ord('"'):
            in_string = True
        elif byte == ord("("):
            depth += 1
        elif byte == ord(")"):
            depth = max(0, depth - 1)
        elif byte == ord(",") and depth == 0:
            yield dictionary[start:at]
            start = at + 1
    yield dictionary[start:]
