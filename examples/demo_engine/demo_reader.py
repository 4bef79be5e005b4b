"""What a client of the demo sees: how a stream ended, and what a refusal contains."""

import json

HANDED_OFF = "migrated"


class StreamReader:
    """Reads server-sent events; knows how the stream ended."""

    def __init__(self):
        self.tokens = 0
        self.done = False
        self.error = None  # the object of the error event
        self._event = "message"
        self._rest = b""

    def feed(self, data):
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line.decode("utf-8", "replace").rstrip("\r"))

    def _line(self, text):
        if text.startswith("event:"):
            self._event = text[6:].strip()
        elif text.startswith("data:"):
            self._data(text[5:].strip())
        elif not text:
            self._event = "message"

    def _data(self, data):
        if data == "[DONE]":
            self.done = True
        elif self._event == "error":
            self.error = json.loads(data).get("error", {})
        else:
            choices = json.loads(data).get("choices") or [{}]
            self.tokens += choices[0].get("finish_reason") is None

    def verdict(self, cut):
        """(is it fine, in words). `cut`: the connection ended without the final chunk."""
        if self.error is not None:
            kind = self.error.get("type")
            if HANDED_OFF in (kind, self.error.get("code")) and cut and not self.done:
                return True, f"handed off after {self.tokens} tokens ({HANDED_OFF}, retryable)"
            return False, f"ended with the error {kind!r} after {self.tokens} tokens"
        if self.done and not cut:
            return True, f"completed, {self.tokens} tokens"
        return False, f"cut off after {self.tokens} tokens without notice"


def refusal(status, body):
    """(is it fine, in words) of an answer that is not a stream."""
    try:
        error = json.loads(body).get("error", {})
    except ValueError:
        error = {}
    if status == 503 and error.get("type") == "draining" and error.get("retryable") is True:
        return True, "refused with 503 (draining, retryable)"
    return False, f"refused with {status}: {error or body!r}"
