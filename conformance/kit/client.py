"""Clients of the engine: streams and unary requests, and the verdict about how each one ended."""

import contextlib
import http.client
import json
import socket
import threading

from .trace import now_ms


class Call(threading.Thread):
    """One request. `outcome` is one of

    complete   every token came, in order, with a finish_reason and [DONE]
    notified   cut, and an error object in the stream says so
    refused    an HTTP status other than 200
    cut        the connection ended in the middle, without notice
    finished   fewer tokens than asked for, and an end that looks like a whole answer
    wrong      a token is missing or out of order
    unreached  no connection, or closed before a status line
    left       the client hung up
    """

    def __init__(self, name, port, tokens, stream, transcript, path="/v1/completions",
                 words_are_tokens=True):
        super().__init__(name=name, daemon=True)
        self.port, self.tokens, self.is_stream = port, tokens, stream
        self.path, self._counts, self._transcript = path, words_are_tokens, transcript
        self.got, self.outcome, self.error, self.status, self.headers = 0, None, None, None, {}
        self.done, self.reason, self.began_ms, self.ended_ms = False, None, None, None
        self._socket = self._response = None
        self._left, self._event = False, ""

    def run(self):
        self.began_ms = now_ms()
        self._transcript.add("client", f"{self.name} requests", tokens=self.tokens)
        try:
            self.outcome = self._exchange()
        except (OSError, http.client.HTTPException) as error:
            notified = self.error is not None  # an error object and no clean end are correct
            self.error = self.error or {"message": type(error).__name__}
            self.outcome = "notified" if notified else "unreached" if self.status is None else "cut"
        if self._left:
            self.outcome = "left"
        for each in (self._response, self._socket):  # the response holds the descriptor, too
            if each is not None:
                each.close()
        self.ended_ms = now_ms()
        words = {"tokens": f"{self.got}/{self.tokens}", "status": self.status}
        if self.error:
            words["error"] = json.dumps(self.error)[:160]
        self._transcript.add("client", f"{self.name}: {self.outcome}", **words)

    def _exchange(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        connection.connect()
        self._socket = connection.sock  # a response that ends with its connection takes it over
        body = {"model": "kit", "max_tokens": self.tokens, "stream": self.is_stream}
        body["ignore_eos"] = True
        if "chat" in self.path:
            body["messages"] = [{"role": "user", "content": "count"}]
        else:
            body["prompt"] = "count"
        headers = {"Content-Type": "application/json", "X-Request-Id": self.name}
        connection.request("POST", self.path, json.dumps(body), headers)
        response = self._response = connection.getresponse()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status != 200:
            data = response.read(4096)
            with contextlib.suppress(ValueError):
                self.error = json.loads(data).get("error")
            return "refused"
        if not self.is_stream:
            return self._unary(response.read())
        rest = b""
        while data := response.read1(65536):  # not readline, which takes a cut for an end
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                verdict = self._line(line.decode(errors="replace").rstrip("\r"))
                if verdict:
                    return verdict
        return self._ended()

    def _unary(self, data):
        choice = json.loads(data or b"{}").get("choices", [{}])[0]
        self.got = len(choice.get("text", "").split())
        self.reason, self.done = choice.get("finish_reason"), True
        return self._ended()

    def _line(self, line):
        if line.startswith("event:"):
            self._event = line[6:].strip()
        elif line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                self.done = True
                return None
            try:
                value = json.loads(data)
            except ValueError:
                return "wrong"
            if self._event == "error" or "error" in value:
                self.error = value.get("error", value)
                return None
            return self._choice(value)
        elif not line:
            self._event = ""
        return None

    def _choice(self, value):
        for choice in value.get("choices", ()):
            text = choice.get("text") or choice.get("delta", {}).get("content") or ""
            for word in text.split() if self._counts else [None] * bool(text):
                if word not in (None, f"t{self.got}"):
                    return "wrong"
                self.got += 1
            self.reason = choice.get("finish_reason") or self.reason
        return None

    def _ended(self):
        if self.error is not None:
            return "notified"
        enough = self.got >= self.tokens or not self._counts
        if enough and self.reason in ("length", "stop") and self.done:
            return "complete"
        return "finished"  # a clean end of the body: no client can know that there was more

    def hang_up(self):
        self._left = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def may_be_retried(self):
        """Whether the error has a form that a program can act on."""
        retryable = isinstance(self.error, dict) and self.error.get("retryable") is True
        return retryable or (self.outcome == "refused" and self.status in (429, 503, 529)
                             and "retry-after" in self.headers)  # fmt: skip
