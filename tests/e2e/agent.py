#!/usr/bin/env python3
"""The client of the end-to-end tests, where a client can be: in the pod's network or the cluster's.

Commands come as JSON lines on stdin, answers go out as JSON lines on stdout, each with the `id` of
its command:
  {"id", "op": "get", "url"}                       -> {"status", "body"}; status null: no connection
  {"id", "op": "post", "url", "body"}              -> the same
  {"id", "op": "stream", "url", "body"}            -> {"event": "first"}, then {"event": "end", ...}
  {"id", "op": "load", "path", "body", "pause"}    starts requests one after the other, for ever
  {"op": "targets", "id", "targets": [base URLs]}  where the load of that id goes from now on
  {"op": "finish", "id"}                           -> the load's sums: {"outcomes", "problems"}
The end of a stream shows how it ended: `completed` (its final chunk and [DONE] were there) with its
text, `error` with the kind that the error event names, `refused` with the status, or `cut`.

Threads: one reads commands, one a request; one lock for stdout. Only the standard library.
"""

import http.client
import json
import sys
import threading
import time
import urllib.parse

_lock = threading.Lock()
_loads = {}


def say(command, **answer):
    with _lock:
        print(json.dumps({"id": command["id"], **answer}), flush=True)


def connect(url, timeout):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    return connection, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def ask(method, url, body=None, timeout=20):
    connection, path = connect(url, timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return None, str(error)
    finally:
        connection.close()


def content_of(data):
    return "".join(each.get("delta", {}).get("content") or "" for each in data.get("choices", ()))


def stream(url, body, on_first=lambda: None, timeout=120):
    """How one streamed answer went."""
    tokens, done, kind, event, said = 0, False, None, "", ""
    connection, path = connect(url, timeout)
    try:
        connection.request("POST", path, json.dumps({"stream": True, **body}))
        answer = connection.getresponse()
        if answer.status != 200:
            return {"outcome": "refused", "status": answer.status, "tokens": 0}
        while line := answer.readline():
            text = line.decode().rstrip()
            if text.startswith("event:"):
                event = text[6:].strip()
            elif text == "data: [DONE]":
                done = True
            elif text.startswith("data:") and event == "error":
                kind = json.loads(text[5:])["error"]["type"]
            elif text.startswith("data:"):
                said += content_of(json.loads(text[5:]))
                tokens += 1
                if tokens == 1:
                    on_first()
    except (OSError, http.client.HTTPException, ValueError) as error:
        if kind is None:
            connected = not isinstance(error, ConnectionRefusedError)
            return {"outcome": "cut" if connected else "unreachable", "tokens": tokens,
                    "problem": f"{type(error).__name__}: {error}"}  # fmt: skip
    finally:
        connection.close()
    if kind is not None:
        return {"outcome": "error", "kind": kind, "tokens": tokens}
    return {"outcome": "completed" if done else "cut", "tokens": tokens, "text": said}


def run_stream(command):
    result = stream(command["url"], command["body"], lambda: say(command, event="first"))
    say(command, event="end", **result)


class Load:
    """One request after the other, each to the next target."""

    def __init__(self, command):
        self.command = command
        self.targets = []
        self.outcomes = {}
        self.problems = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        turn = 0
        while not self.stopped.wait(self.command["pause"]):
            targets = self.targets
            if not targets:
                continue
            turn += 1
            began = time.time()
            target = targets[turn % len(targets)]
            result = stream(target + self.command["path"], self.command["body"])
            outcome = result["outcome"]
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            if outcome != "completed":
                self.problems.append({"target": target, "began": began, **result})

    def finish(self):
        self.stopped.set()
        self.thread.join()
        say(self.command, outcomes=self.outcomes, problems=self.problems[:10])


def obey(command):
    op = command["op"]
    if op in ("get", "post"):
        status, body = ask(op.upper(), command["url"], command.get("body"))
        say(command, status=status, body=body)
    elif op == "stream":
        run_stream(command)
    elif op == "finish":
        _loads.pop(command["id"]).finish()


def main():
    for line in sys.stdin:
        command = json.loads(line)
        if command["op"] == "load":
            _loads[command["id"]] = Load(command)
        elif command["op"] == "targets":
            _loads[command["id"]].targets = command["targets"]
        else:
            threading.Thread(target=obey, args=(command,), daemon=True).start()
    for load in _loads.values():
        load.stopped.set()


if __name__ == "__main__":
    main()
