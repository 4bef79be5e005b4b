"""Cases that are bytes to the open port: each is sent to all three proxies.

A case holds for lastcall when its own rule does, and these do for every byte that was sent:
 1. what reaches the engine are the requests that were sent, in their order and with their bodies,
    as framing alone shows (framing.py): a request in a body is not one, nor is what follows a
    fault;
 2. as many requests reach the engine as answers of the engine come back;
 3. after an answer that something could not be read nothing more is answered, whether or not the
    connection is closed.
"""

import functools
import itertools
import os

import framing

CORPUS = os.path.join(os.path.dirname(__file__), "../fuzz/corpus/http_requests")
CRLF = "\r\n"
# Answers to what could not be read: nothing after it has a known start.
UNREADABLE = (400, 408, 411, 413, 414, 417, 431, 501, 505)


def request(target="/v1/models", *lines, method="GET"):
    return (CRLF.join([f"{method} {target} HTTP/1.1", "Host: h", *lines]) + CRLF * 2).encode()


def crowd_of_lines(name):
    """110 lines, and a list of 30 000 empty elements, all within 32 kB."""
    return request("/v1/models", *[f"X-{i}: a" for i in range(110)], f"{name}: " + "," * 30_000)


class Case:
    """`rule(answer, requests)`: what must hold for lastcall beside what holds for all."""

    def __init__(self, point, title, data, rule, quiet=None):
        self.point, self.title, self.data, self.rule, self.quiet = point, title, data, rule, quiet

    def breaks(self, answer, requests):
        """Returns why it does not hold; empty: it does."""
        sent = framing.sent(self.data)
        for each, was in itertools.zip_longest(requests, sent[: len(requests)]):
            if was is None:
                return f"{each} was never sent as a request"
            if each.fault or not each.is_same(was):
                return f"{each} reached the engine, {was} was sent"
        good = [status for status in answer.final() if status == 200]
        if len(good) != len(requests):
            return f"{len(requests)} requests reached the engine, {len(good)} were answered"
        unread = [at for at, status in enumerate(answer.final()) if status in UNREADABLE]
        if unread and unread[0] != len(answer.final()) - 1:
            return "it went on behind a refusal"
        return self.rule(answer, requests)


def answered(*statuses):
    def rule(answer, requests):
        expected = " or ".join(map(str, statuses))
        got = answer.final()
        return "" if got and got[-1] in statuses else f"expected {expected}, got {answer}"
    return rule


def any_answer(answer, requests):
    return ""


def reaches(*lines, without=()):
    """Its one request has these lines, and none that begins so."""
    def rule(answer, requests):
        if len(requests) != 1:
            return f"expected one request at the engine, there are {len(requests)}"
        head = requests[0].head.lower().split(b"\r\n")
        missing = [line for line in lines if line.lower().encode() not in head]
        extra = [name for name in without
                 if any(line.startswith(name.lower().encode()) for line in head)]  # fmt: skip
        return f"missing {missing}, not wanted {extra}" if missing or extra else ""
    return rule


def control_cases():
    """Of docs/ingress.md, 'Control paths': what a stranger may not do, however it is spelled."""
    closed = ("/abort_request", "/flush_cache", "/sleep", "/v1/load_lora_adapter",
              "/update_weights_from_disk", "/SLEEP", "/%73leep", "/%2573leep", "//sleep",
              "/sleep/", "/sleep;a=b", "/sleep?level=1", "http://h/sleep", "/\\sleep")  # fmt: skip
    for path in closed:
        yield Case("6", f"POST {path}", request(path, "Content-Length: 0", method="POST"),
                   answered(403))  # fmt: skip
    for path in ("/v1/../sleep", "/v1/%2e%2e/sleep", "/v1/.%2E/sleep", "/v1/%252e%252e/sleep",
                 "/v1/..%2fsleep", "/v1/..;/sleep", "/v1\\..\\sleep", "/./sleep"):  # fmt: skip
        yield Case("6", f"POST {path}", request(path, "Content-Length: 0", method="POST"),
                   answered(400))  # fmt: skip
    yield Case("6", "GET /metrics", request("/metrics"), answered(200))


def header_cases():
    list_of = "a list of 30 000 elements behind 110 lines, in "
    yield Case("1", list_of + "Connection", crowd_of_lines("Connection"), answered(400))
    yield Case("1", list_of + "X-List", crowd_of_lines("X-List"), answered(200))
    elements = ",".join(f"x{i}" for i in range(32))
    yield Case("1", "Connection with 32 elements", request("/v1/models", f"Connection: {elements}"),
               answered(200))  # fmt: skip
    yield Case("1", "Connection with 33 elements",
               request("/v1/models", f"Connection: {elements},x"), answered(400))  # fmt: skip
    for name in ("X-Forwarded-For", "Authorization", "Cookie", "Content-Type", "X-Api-Key"):
        yield Case("1", f"Connection: {name}",
                   request("/v1/models", f"{name}: kept", f"Connection: {name}"),
                   functools.partial(has_line, name.lower()))  # fmt: skip
    yield Case("7", "X_Forwarded_For of a client",
               request("/v1/models", "X_Forwarded_For: 1.2.3.4", "X_User: root"),
               reaches(without=("x_forwarded_for", "x_user")))  # fmt: skip
    yield Case("7", "X-Lastcall-Token of a client",
               request("/v1/models", "X-Lastcall-Token: guess", "X-Lastcall-Probe: 1"),
               reaches(without=("x-lastcall-token", "x-lastcall-probe")))  # fmt: skip
    yield Case("7", "X-Lastcall-Router and an unknown X-Lastcall-Foo of a client",
               request("/v1/models", "X-Lastcall-Router: 1", "X-Lastcall-Foo: 1"),
               reaches(without=("x-lastcall-router", "x-lastcall-foo")))  # fmt: skip
    for title, count in (("128 lines", 127), ("1 000 lines", 1_000)):
        lines = [f"X-{i}: a" for i in range(count)]
        yield Case("1", f"a head of {title}", request("/v1/models", *lines),
                   answered(200) if count < 128 else answered(431))  # fmt: skip
    yield Case("1", "a head of 64 kB", request("/v1/models", "X: " + "a" * 65_536), answered(431))


def has_line(name, answer, requests):
    has = len(requests) == 1 and requests[0].lines(name)
    return "" if has else f"{name} did not reach the engine"


def body_cases():
    """Requests that stand where none is: in bodies, however these are framed."""
    hidden = request("/hidden", "Content-Length: 0", method="POST")
    chunked = b"%x\r\n%s\r\n0\r\n" % (len(hidden), hidden)
    kept = request("/v1/models")
    for title, lines, body in (
        ("a body", [f"Content-Length: {len(hidden)}"], hidden),
        ("a chunk", ["Transfer-Encoding: chunked"], chunked + b"\r\n"),
        ("two chunks", ["Transfer-Encoding: chunked"],
         b"4\r\nPOST\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(hidden) - 4, hidden[4:])),
    ):  # fmt: skip
        for method in ("POST", "GET"):
            head = request("/v1/completions", *lines, method=method)
            yield Case("9", f"a request in {title} of a {method}", head + body + kept,
                       reaches_as("/v1/completions", "/v1/models"))  # fmt: skip
    tail = request("/v1/completions", "Content-Length: 3", method="POST")
    yield Case("9", "a body that is longer than its length", tail + b"abc " + hidden,
               reaches_as("/v1/completions"))  # fmt: skip
    yield Case("9", "a chunk that is longer than its size",
               request("/v1/completions", "Transfer-Encoding: chunked", method="POST")
               + b"3\r\nabcd\r\n0\r\n\r\n" + hidden, any_answer)  # fmt: skip


def reaches_as(*targets):
    def rule(answer, requests):
        got = [each.target.decode() for each in requests]
        return "" if got == list(targets) else f"expected {targets}, {got} reached the engine"
    return rule


def corpus_cases():
    """What is known to go wrong between servers, from the fuzzer's corpus."""
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), "rb") as file:
            yield Case("9", name, file.read(), any_answer)


def all_cases():
    return [*header_cases(), *control_cases(), *body_cases(), *corpus_cases()]
