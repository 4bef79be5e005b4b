"""Requests by their framing alone (RFC 9112): what the engine of a replay has got, and what a case
has sent. A body is bytes: whatever is in it, it is not a request.

It knows no program that is tested. What can be read in two ways has a fault, and nothing after it
is read.
"""

import io
import re

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
REQUEST_LINE = re.compile(rb"(%s) ([!-~\x80-\xff]+) HTTP/1\.([01])" % TOKEN)
FIELD = re.compile(rb"(%s):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*" % TOKEN)
SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(;.*)?")


class Fault(Exception):
    """These bytes are not a request, or could be another one."""


class Request:
    def __init__(self, head, body, fault=""):
        self.head, self.body, self.fault = head, body, fault
        words = head.split(b"\r\n", 1)[0].split(b" ")
        self.method, self.target = words[0], words[1] if len(words) > 1 else b""

    def __repr__(self):
        fault = f" ({self.fault})" if self.fault else ""
        return f"{self.method.decode('latin-1')} {self.target.decode('latin-1')}{fault}"

    def lines(self, name):
        name = name.lower().encode() + b":"
        return [line for line in self.head.split(b"\r\n")[1:] if line.lower().startswith(name)]

    def is_same(self, sent):
        """Whether it is what `sent` becomes on its way: a proxy writes targets in origin form."""
        return (self.method, self.target, self.body) == (sent.method, origin(sent), sent.body)


def origin(request):
    """The target without scheme and authority."""
    found = re.fullmatch(rb"(?i:https?)://[^/?]*(.*)", request.target)
    if not found:
        return request.target
    if not found[1] and request.method == b"OPTIONS":
        return b"*"
    return found[1] if found[1].startswith(b"/") else b"/" + found[1]


def line_of(file):
    line = file.readline()
    if not line:
        raise EOFError
    if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
        raise Fault("a line without CRLF")
    return line[:-2]


def length_of(fields, version):
    """Bytes, or nothing where it is chunked."""
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    lengths = [value for name, value in fields if name == b"content-length"]
    if len(codings) + len(lengths) > 1:
        raise Fault("two lengths")
    if codings:
        if codings[0].lower() != b"chunked" or version == b"0":
            raise Fault("a coding other than chunked, or in HTTP/1.0")
        return None
    if lengths and not re.fullmatch(rb"[0-9]{1,18}", lengths[0]):
        raise Fault("a length that is no number")
    return int(lengths[0]) if lengths else 0


def exactly(file, size):
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data


def chunks(file):
    body = b""
    while True:
        found = SIZE.fullmatch(line_of(file))
        if not found:
            raise Fault("a chunk without a size")
        size = int(found[1], 16)
        if size == 0:
            break
        body += exactly(file, size)
        if exactly(file, 2) != b"\r\n":
            raise Fault("a chunk of another size")
    while line := line_of(file):
        if not FIELD.fullmatch(line):
            raise Fault("a trailer that is none")
    return body


def read(file):
    """The next request, its head kept as it came; None at the end."""
    lines = []
    try:
        line = line_of(file) or line_of(file)  # one empty line before it is forgiven
        lines.append(line)
        start = REQUEST_LINE.fullmatch(line)
        if not start:
            raise Fault("a request line that is none")
        fields = []
        while line := line_of(file):
            lines.append(line)
            field = FIELD.fullmatch(line)
            if not field:
                raise Fault("a header line that is none")
            fields.append((field[1].lower(), field[2]))
        length = length_of(fields, start[3])
        body = chunks(file) if length is None else exactly(file, length)
    except Fault as fault:
        return Request(b"\r\n".join(lines), b"", str(fault))
    except EOFError:
        return Request(b"\r\n".join(lines), b"", "cut") if lines else None
    return Request(b"\r\n".join(lines), body)


def sent(data):
    """All whole requests up to the first fault."""
    file, requests = io.BytesIO(data), []
    while (request := read(file)) is not None and not request.fault:
        requests.append(request)
    return requests
