"""A real HTTP client of the engine: one streamed completion, read by a thread of its own."""

import http.client
import json
import threading

from serve_peer import PATIENCE


class Stream:
    def __init__(self, port, tokens, headers=()):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        body = json.dumps({"stream": True, "max_tokens": tokens, "messages": []})
        self.connection.request("POST", "/v1/chat/completions", body, dict(headers))
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        try:
            response = self.connection.getresponse()
            while data := response.read1(4096):
                self.text += data.decode()
        except (OSError, http.client.HTTPException) as error:
            self.text += f"<{error!r}>"

    def finished(self):
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive(), self.text
        self.connection.close()
        return self.text


def call(port, method, path, body=None):
    """One exchange with the engine; its JSON, else its text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return json.loads(text) if text.startswith("{") else text
