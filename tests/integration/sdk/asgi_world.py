"""A supervisor with a uvicorn server as its engine, and clients of that server."""

import http.client
import json
import os
import re
import sys

from ports import free_port
from serve_peer import PATIENCE, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))


def start(one, *app, **environment):
    """`lastcall run` around uvicorn with this app (asgi_engine); returns once it serves."""
    one.engine_port = free_port()
    one.config["engine"] = {"kind": "custom"}
    if "ingress" in one.config:
        one.config["ingress"]["upstream"] = f"127.0.0.1:{one.engine_port}"
    url = f"http://127.0.0.1:{one.engine_port}/health"
    one.config["health"]["checks"] = [{"name": "engine", "http": {"url": url}, "timeout": "5s"}]
    process = one.run(
        sys.executable, "-m", "uvicorn", "--port", str(one.engine_port),
        "--log-level", "warning", *(app or ("asgi_engine:app",)),
        PYTHONPATH=os.pathsep.join([HERE, f"{ROOT}/sdk/python"]), **environment,
    )  # fmt: skip
    one.wait_for_log('"phase begun","phase":"serving"')
    return process


class Call:
    """One request, with an id of its own."""

    def __init__(self, port, request_id, *, path="/v1/chat/completions", tokens=1, stream=True,
                 **more):  # fmt: skip
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        body = {"model": "Qwen", "stream": stream, "max_tokens": tokens, **more}
        self.connection.request("POST", path, json.dumps(body), {
            "X-Request-Id": request_id, "Content-Type": "application/json",
        })  # fmt: skip
        self.text = b""

    def answer(self):
        self.response = self.connection.getresponse()
        return self.response

    def first_token(self):
        self.text = self.answer().readline()
        assert self.text.startswith(b"data: token"), self.text
        return self

    def rest(self):
        """What comes until the end, and whether the connection broke before it."""
        try:
            self.text += self.response.read()
            return self.text, False
        except http.client.IncompleteRead as cut:
            self.text += cut.partial
            return self.text, True

    def error(self):
        return json.loads(self.text.rpartition(b"data: ")[2])["error"]

    def leave(self):
        self.response.close()
        self.connection.close()


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def live(one):
    operator = one.operator()
    try:
        return {each["id"]: each for each in operator.ask("requests")["requests"]}
    finally:
        operator.close()


def wait_until_live(one, request_id):
    return wait_until(lambda: live(one).get(request_id), f"{request_id} is live")


def metric(one, name, **labels):
    """The sum of the series with these labels."""
    total = 0.0
    for line in one.get("/metrics")[1].splitlines():
        match = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
            total += float(match[2])
    return total
