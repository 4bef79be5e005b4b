"""The tests' end of agent.py.

Threads: any number may ask; one thread of its own reads the answers.
"""

import itertools
import json
import queue
import subprocess
import threading
import time

PATIENCE = 60


def wait_until(holds, what, patience=PATIENCE, pause=0.1):
    """Polls; returns the first true result of `holds`."""
    deadline = time.monotonic() + patience
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < deadline, f"within {patience} s not: {what}"
        time.sleep(pause)


class Answers:
    """What comes back for one command."""

    def __init__(self):
        self._queue = queue.Queue()
        self.put = self._queue.put

    def next(self, patience=PATIENCE):
        answer = self._queue.get(timeout=patience)
        assert answer is not None, "the agent ended"
        return answer


class Client:
    """`command` starts the agent; it ends with its stdin."""

    def __init__(self, command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._numbers = itertools.count(1)
        self._waiting = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            answer = json.loads(line)
            self._waiting[answer["id"]].put(answer)
        for answers in self._waiting.values():
            answers.put(None)

    def send(self, **command):
        with self._lock:
            number = command.setdefault("id", next(self._numbers))
            answers = self._waiting.setdefault(number, Answers())
            self._process.stdin.write(json.dumps(command) + "\n")
        return number, answers

    def get(self, url):
        """(status, body); status None: nothing answers."""
        answer = self.send(op="get", url=url)[1].next()
        return answer["status"], answer["body"]

    def post(self, url, body):
        answer = self.send(op="post", url=url, body=body)[1].next()
        return answer["status"], answer["body"]

    def stream(self, url, **body):
        """Answers of a stream whose first token has arrived."""
        answers = self.send(op="stream", url=url, body=body)[1]
        first = answers.next()
        assert first["event"] == "first", first
        return answers

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
