"""Users of an OpenAI-compatible address that ask without a pause, and how each request ended."""

import contextlib
import http.client
import json
import threading

PATIENCE = 60  # of one user, for the next byte


class Wrong(Exception):
    """An answer that no user should have seen."""


def ask(port, tokens, stream, leaves):
    """(id, how it ended): 'completed', the type of the error event, or 'left' once `leaves()`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        body = json.dumps({"model": "sim", "prompt": "x", "max_tokens": tokens, "stream": stream})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        with contextlib.closing(connection.getresponse()) as response:
            if response.status != 200:
                raise Wrong(f"{response.status} {response.read()!r}")
            how = read_stream(response, tokens, leaves) if stream else read(response, tokens)
            return response.headers["X-Request-Id"], how


def read(response, tokens):
    text = json.loads(response.read())["choices"][0]["text"]
    if text != "".join(f"t{number} " for number in range(tokens)):
        raise Wrong(f"not what was asked for: {text!r}")
    return "completed"


def read_stream(response, tokens, leaves):
    """Tokens come in order, and at the end [DONE] or the reason why there is none."""
    events, kind = 0, None
    while not leaves():
        try:
            line = response.readline()
        except (http.client.IncompleteRead, OSError) as error:
            raise Wrong(f"cut after {events} events without a word: {error!r}") from error
        if not line:
            raise Wrong(f"ended after {events} events without a word")
        name, _, value = line.rstrip(b"\n").partition(b": ")
        if name == b"event":
            kind = value
        elif name == b"data" and kind == b"error":
            return read_error(json.loads(value)["error"], events)
        elif name == b"data" and value == b"[DONE]":
            if events != tokens + 1 or response.read().strip():
                raise Wrong(f"[DONE] after {events} events for {tokens} tokens")
            return "completed"
        elif name == b"data":
            text = json.loads(value)["choices"][0]["text"].strip()
            if text != (f"t{events}" if events < tokens else ""):
                raise Wrong(f"token {events} is {text!r}")
            events += 1
    return "left"


def read_error(error, events):
    if error["events_sent"] != events or not error["retryable"]:
        raise Wrong(f"{error} after {events} events")
    return error["type"]


class Load:
    """`users` are (name, tokens, stream, whether they leave in the end).

    `ended` has (user's name, how) of each request's id.
    """

    def __init__(self, port, users):
        self.port, self.wrong, self.ended = port, [], {}
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask_on, args=user) for user in users]
        for thread in self._threads:
            thread.start()

    def _ask_on(self, name, tokens, stream, leaves):
        def is_tired():
            return leaves and self._ends.is_set()

        while not self._ends.is_set():
            try:
                request, how = ask(self.port, tokens, stream, is_tired)
                if request in self.ended:
                    raise Wrong(f"{request} has ended before")
                self.ended[request] = name, how
            except (Wrong, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self.wrong.append(f"{name}: {error!r}")

    def ids(self, *hows):
        return {request for request, (_, how) in list(self.ended.items()) if how in hows}

    def ways(self, name):
        return {how for user, how in self.ended.values() if user == name}

    def end(self):
        """No request is begun any more; those that run go on to their end, or are left."""
        self._ends.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a user waits without end"
