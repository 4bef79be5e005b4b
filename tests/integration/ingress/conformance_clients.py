"""Real clients of HTTP: each takes {name: case} to the proxy at `port` and returns the answers."""

import asyncio
import http.client
import json
import os
import shutil
import subprocess
import tempfile

import aiohttp
from conformance_cases import answer, bytes_of

PATIENCE = 30
HERE = os.path.dirname(os.path.abspath(__file__))


# --- curl

CURL_CUT = (18, 56)  # the connection ended before the answer did


def curl(port, cases):
    return {name: _curl(port, one) for name, one in cases.items()}


def _curl(port, one):
    with tempfile.TemporaryDirectory() as folder:
        words = ["curl", "-sS", "--http1.1", "--max-time", str(PATIENCE), "-o", f"{folder}/body",
                 "-D", f"{folder}/head"]  # fmt: skip
        words += ["-I"] if one["method"] == "HEAD" else ["-X", one["method"]]
        words += [word for pair in one["headers"] for word in ("-H", ": ".join(pair))]
        if one["chunked"]:
            words += ["-H", "Transfer-Encoding: chunked"]
        if one["body"] is not None:
            with open(f"{folder}/sent", "wb") as file:
                file.write(bytes_of(one["body"]))
            words += ["--data-binary", f"@{folder}/sent"]
            if not any(name == "Content-Type" for name, _ in one["headers"]):
                words += ["-H", "Content-Type:"]
        done = subprocess.run([*words, f"http://127.0.0.1:{port}{one['path']}"],
                              capture_output=True, timeout=2 * PATIENCE)  # fmt: skip
        assert done.returncode in (0, *CURL_CUT), done.stderr
        with open(f"{folder}/head", encoding="latin-1", newline="") as file:
            last = file.read().rstrip().split("\r\n\r\n")[-1]  # 100 Continue is before it
        body = b""
        if os.path.exists(f"{folder}/body") and one["method"] != "HEAD":
            with open(f"{folder}/body", "rb") as file:
                body = file.read()
    line, *fields = last.split("\r\n")
    pairs = [tuple(field.split(": ", 1)) for field in fields]
    return answer(int(line.split()[1]), pairs, body, cut=done.returncode != 0)


# --- Python's own, on one connection as long as it is kept


def http_client(port, cases):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    found = {}
    for name, one in cases.items():
        found[name] = _http_client(connection, one)
        found[name]["kept"] = connection.sock is not None
    connection.close()
    return found


def _http_client(connection, one):
    body = bytes_of(one["body"])
    connection.putrequest(one["method"], one["path"], skip_accept_encoding=True)
    for pair in one["headers"]:
        connection.putheader(*pair)
    if one["chunked"]:
        connection.putheader("Transfer-Encoding", "chunked")
        pieces = (body[at : at + 70_000] for at in range(0, len(body), 70_000))
    else:
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        pieces = body
    try:
        connection.endheaders(pieces, encode_chunked=one["chunked"])
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has answered already
    response = connection.getresponse()
    cut = False
    try:
        got = response.read()
    except http.client.IncompleteRead as error:
        got, cut = error.partial, True
        connection.close()
    return answer(response.status, response.getheaders(), got, cut)


# --- aiohttp


def aiohttp_client(port, cases):
    async def all_of_them():
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", timeout=timeout) as session:
            return {name: await _aiohttp(session, one) for name, one in cases.items()}

    return asyncio.run(all_of_them())


async def _aiohttp(session, one):
    from yarl import URL

    expects = ["Expect", "100-continue"] in one["headers"]
    headers = [tuple(pair) for pair in one["headers"] if pair[0] != "Expect"]
    async with session.request(
        one["method"], URL(one["path"], encoded=True), data=bytes_of(one["body"]),
        chunked=one["chunked"] or None, headers=headers, allow_redirects=False, expect100=expects,
        skip_auto_headers=["Content-Type"],
    ) as response:  # fmt: skip
        body, cut = b"", False
        try:
            async for piece in response.content.iter_any():
                body += piece
        except aiohttp.ClientPayloadError:
            cut = True
        return answer(response.status, response.headers.items(), body, cut)


# --- Node's fetch, and what npm has: one process for all cases


def fetch(port, cases):
    return _node("fetch", port, cases)


def _node(client, port, cases, folder=HERE):
    # Fetch sets this header by itself, or not at all.
    mine = {name: one for name, one in cases.items()
            if client != "fetch" or ["Expect", "100-continue"] not in one["headers"]}  # fmt: skip
    done = subprocess.run(
        ["node", os.path.join(HERE, f"conformance_{client}.mjs"), str(port), folder],
        input=json.dumps(mine).encode(), capture_output=True, timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    answers = json.loads(done.stdout)
    if client != "fetch":
        return answers
    return {name: answer(one["status"], one["headers"], one["body"].encode("latin-1"), one["cut"])
            for name, one in answers.items()}  # fmt: skip


def openai(port, folder):
    """The npm package of that name, installed in `folder`."""
    return _node("openai", port, {}, folder)


# --- wrk

POST = """
wrk.method = "POST"
wrk.body = '{"model":"m","messages":[]}'
wrk.headers["Content-Type"] = "application/json"
"""


def wrk(port, seconds=1):
    """Whether each of many requests on 16 connections was answered with 2xx."""
    found = {}
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(POST)
        script.flush()
        for name, words in (("get", ["/v1/models"]), ("post", ["/v1/chat/completions"])):
            lua = ["-s", script.name] if name == "post" else []
            shown = subprocess.run(
                ["wrk", "-t1", "-c16", f"-d{seconds}s", "--timeout", "20s", *lua,
                 f"http://127.0.0.1:{port}{words[0]}"],
                capture_output=True, text=True, timeout=2 * PATIENCE, check=True,
            ).stdout  # fmt: skip
            wrong = [line for line in shown.splitlines() if "errors" in line or "Non-2xx" in line]
            found[name] = {"wrong": wrong, "some": "requests in" in shown}
    return found


CLIENTS = {"curl": curl, "http.client": http_client, "aiohttp": aiohttp_client, "fetch": fetch}
PROGRAMS = {"curl": "curl", "fetch": "node"}


def missing(program):
    return shutil.which(program) is None
