"""Bare engines, and users of the `openai` interface that know what their answers must be."""

import contextlib
import http.client
import json
import subprocess
import sys
import threading

from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM

TOKENS = 60


def answer(tokens=TOKENS):
    return "".join(f"t{number} " for number in range(tokens))


class Sim:
    """An engine as a process; its tokens are `t0 t1 t2 ...`, whatever is asked."""

    def __init__(self, *flags, rate=40):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            (sys.executable, ENGINE_SIM, "--port", str(self.port), "--rate", str(rate), *flags),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def is_up(self):
        try:
            return self.ask("GET", "/health")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body else None)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")

    def is_alive(self):
        return self.process.poll() is None

    def close(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def sims(number, *flags, rate=40):
    made = [Sim(*flags, rate=rate) for _ in range(number)]
    try:
        for each in made:
            wait_until(each.is_up, "the engine is up", patience=60)
        yield made
    finally:
        for each in made:
            each.close()


class User(threading.Thread):
    """What it has of its answer is `text`; `status` is that of the response."""

    def __init__(self, port, content="x", chat=True, tokens=TOKENS, headers=None, **fields):
        super().__init__(daemon=True)
        self.port, self.chat, self.tokens = port, chat, tokens
        self.body = {"model": "sim", "stream": True, "max_tokens": tokens, **fields}
        self.body |= (
            {"messages": [{"role": "user", "content": content}]} if chat else {"prompt": content}
        )
        self.headers = {"Content-Type": "application/json", **(headers or {})}
        self.text, self.ids, self.reasons, self.usage, self.error = "", set(), [], [], None
        self.done, self.status, self.answer_headers, self.comments = 0, None, {}, []
        self.connection = None
        self.start()

    def run(self):
        path = "/v1/chat/completions" if self.chat else "/v1/completions"
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * PATIENCE)
        with contextlib.closing(self.connection):
            self.connection.request("POST", path, json.dumps(self.body), self.headers)
            response = self.connection.getresponse()
            self.answer_headers = response.headers
            self.status = response.status
            if self.status != 200:
                self.error = json.loads(response.read())["error"]
                return
            self.read(response)

    def read(self, response):
        if not self.body["stream"]:
            return self.take_whole(json.loads(response.read()))
        for line in response:
            if line.startswith(b":"):
                self.comments.append(line.decode().strip())
            elif line.startswith(b"data: [DONE]"):
                self.done += 1
            elif line.startswith(b"data: "):
                self.take(json.loads(line[6:]))

    def take_whole(self, data):
        self.ids.add(data["id"])
        self.usage.append(data["usage"])
        choice = data["choices"][0]
        self.text = choice["message"]["content"] if self.chat else choice["text"]
        self.reasons.append(choice["finish_reason"])
        self.done = 1

    def take(self, data):
        if "error" in data:
            self.error = data["error"]
            return
        self.ids.add(data["id"])
        if data.get("usage"):
            self.usage.append(data["usage"])
        for choice in data["choices"]:
            self.text += (choice["delta"].get("content") or "") if self.chat else choice["text"]
            if choice["finish_reason"]:
                self.reasons.append(choice["finish_reason"])

    def ended(self):
        self.join(3 * PATIENCE)
        assert not self.is_alive()
        return self

    def is_whole(self):
        self.ended()
        assert self.error is None, self.error
        assert self.text.rstrip() == answer(self.tokens).rstrip()
        assert (len(self.ids), self.reasons, self.done) == (1, ["length"], 1)
        return True
