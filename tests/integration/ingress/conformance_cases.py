"""What every client of HTTP asks both proxies, and where their answers may differ."""

import json
import os
import re

PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/ingress.md")
MOST = 512 * 1024  # bytes of a body


def case(path, method="GET", body=None, chunked=False, headers=()):
    """`body` is text, or the number of bytes of one that is not looked into."""
    return {"method": method, "path": path, "body": body, "chunked": chunked,
            "headers": [list(pair) for pair in headers]}  # fmt: skip


def chat(model="m", stream=False):
    body = json.dumps({"model": model, "stream": stream, "messages": []})
    headers = [("Content-Type", "application/json"), ("Authorization", "Bearer secret")]
    return case("/v1/chat/completions", "POST", body, headers=headers)


CASES = {
    "list of models": case("/v1/models"),
    "escaped target": case("/echo?a=%2F%20b&c"),
    "head": case("/v1/models", "HEAD"),
    "answer": chat(),
    "stream": chat(stream=True),
    "status of the engine": chat("absent"),
    "failure of the engine": case("/fails", "POST", "{}"),
    "empty body": case("/echo", "POST", ""),
    "put": case("/echo", "PUT", "abc"),
    "patch": case("/echo", "PATCH", "abc"),
    "delete": case("/echo", "DELETE"),
    "large body": case("/echo", "POST", MOST),
    "chunked body": case("/echo", "POST", 300_000, chunked=True),
    "expected body": case("/echo", "POST", 70_000, headers=[("Expect", "100-continue")]),
    "large answer": case("/large"),
    "chunked answer": case("/chunks"),
    "no content": case("/empty"),
    "redirect": case("/moved"),
    "two cookies": case("/two"),
    "repeated header": case("/echo", headers=[("X-Twice", "1"), ("X-Twice", "2")]),
    "body too large": case("/echo", "POST", 2 * MOST),
    "broken stream": chat("breaks", stream=True),
}
ENGINE_AWAY = {"engine away": chat()}

# The first is nginx's answer, the second the ingress's. Only the fields that are named here are
# compared.
DIFFERENT = {
    "body too large": ({"status": 413, "type": "text/html"},
                       {"status": 413, "type": "application/json"}),
    "engine away": ({"status": 502, "type": "text/html"},
                    {"status": 503, "type": "application/json"}),
    "broken stream": ({"status": 200, "cut": True, "last": "chunk"},
                      {"status": 200, "cut": True, "last": "error"}),
}  # fmt: skip
# These differ by the proxy that answers, so they are not compared.
DIFFERENT_HEADERS = {"server", "connection", "x-request-id", "date", "keep-alive"}
ADDED_BY_INGRESS = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
                    "x-request-id"]  # fmt: skip
# Other tests check these rows of the page.
OTHER_ROWS = {"CONNECT", "bare line feeds", "bytes above 127 in a target",
              "dot segments and control characters in a path", "TRACE", "methods in lower case",
              "headers of an answer",
              "headers to the engine", "`X-Forwarded-*` of a client"}  # fmt: skip


def bytes_of(body):
    if isinstance(body, int):
        return (bytes(range(256)) * (body // 256 + 1))[:body]
    return None if body is None else body.encode()


def answer(status, headers, body, cut=False):
    """What a client got: headers are pairs."""
    kept = sorted([name.lower(), value] for name, value in headers
                  if name.lower() not in DIFFERENT_HEADERS)  # fmt: skip
    return {"status": status, "headers": kept, "body": body.decode("latin-1"), "cut": cut}


def described(given):
    """An answer in the words of DIFFERENT."""
    types = [value.split(";")[0] for name, value in given["headers"] if name == "content-type"]
    last = "error" if "event: error\ndata: " in given["body"] else "chunk"
    return {**given, "type": types[0], "last": last}


def without_added(given):
    """An answer of /echo without what a proxy adds to a request, and what was added."""
    try:
        seen = json.loads(given["body"])
        added = seen.pop("added")
    except (ValueError, KeyError, AttributeError, TypeError):
        return given, None
    kept = [pair for pair in given["headers"] if pair[0] != "content-length"]
    return {**given, "body": seen, "headers": kept}, added


def rows_of_the_page():
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().partition("## Where it differs from nginx\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| ([^|]+?) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)) - {
        "Case", "---"}  # fmt: skip
