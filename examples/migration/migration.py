#!/usr/bin/env python3
"""Shows answers that outlive their engines: a rollout and a `kill -9`, and no client notices.

    python3 migration.py PATH_TO_LASTCALL PATH_TO_LASTCALL_ROUTER

Starts two demo engines, each under `lastcall run`, and a router that finds them in a directory.
While six answers are under way a third engine takes the place of the first (SIGTERM to its
lastcall), and then the second engine is killed. The engine's words are numbered by their place in
the answer, so that a word that is missing or comes twice shows. Exits 0 only if every answer has
each word once, under one id, with one end.

It uses its own ports and directory, so several can run at once.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINE = HERE.parent / "demo_engine"
sys.path.insert(0, str(ENGINE))

from demo import Timeline, free_port, wait_ready  # noqa: E402

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
STREAMS = [CHAT, CHAT, CHAT, TEXT, TEXT, TEXT]
WORDS, RATE = 110, 25.0


def length_for(start):
    """The number of words of an answer that outlasts the start of a third engine and both moves.

    `start` is the time in seconds that the first engines took to start. On a slow machine an answer
    of the usual length would end before anything has to move.
    """
    return max(WORDS, round(RATE * (2 + 3 * start)))


WORKER = """
identity: {{model: demo, advertise: "http://127.0.0.1:{port}"}}
engine: {{kind: custom}}
# The time is short, so that the demonstration is: a stream that still runs 1.6 s after the signal
# is handed over.
shutdown: {{grace_period: 3s, deregister_timeout: 500ms, late_accept: 200ms, cleanup_reserve: 1s}}
health: {{checks: [{{name: engine, http: {{url: "http://127.0.0.1:{port}/health"}}}}]}}
probes: {{listen: "127.0.0.1:{probes}"}}
ipc: {{socket: "{folder}/s", admin_socket: "{folder}/admin/s"}}
discovery: [{{file: {{directory: "{registry}"}}}}]
"""
ROUTER = """
listen: 127.0.0.1:{port}
operators: 127.0.0.1:{operators}
workers: [{{file: {{directory: "{registry}"}}}}]
shutdown: {{late_accept: 0ms}}
"""


class Worker:
    """A demo engine under `lastcall run`."""

    def __init__(self, name, lastcall, directory):
        self.name, self.lastcall, self.folder = name, lastcall, directory / name
        (self.folder / "admin").mkdir(parents=True)
        self.port, self.probes = free_port(), free_port()
        self.config = self.folder / "lastcall.yaml"
        self.config.write_text(WORKER.format(
            port=self.port, probes=self.probes, folder=self.folder,
            registry=directory / "registry"))  # fmt: skip
        command = [
            lastcall, "run", "--config", self.config, "--", sys.executable,
            ENGINE / "demo_engine.py", "--port", str(self.port), "--rate", str(RATE),
        ]  # fmt: skip
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)

    def is_ready(self):
        return wait_ready(self.process, self.probes)

    def engine_pid(self):
        status = subprocess.run(
            [self.lastcall, "status", "--config", self.config, "--output", "json"],
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        return json.loads(status.stdout)["engine"]["pid"]


class Client(threading.Thread):
    """One answer, as it comes."""

    def __init__(self, number, port, path, length=WORDS):
        super().__init__(daemon=True)
        self.number, self.port, self.path, self.length = number, port, path, length
        self.text, self.ids, self.ends, self.done, self.error = "", set(), [], 0, None
        self.longest_pause, self._last = 0.0, None

    def run(self):
        body = {"model": "demo", "stream": True, "max_tokens": self.length}
        if self.path == CHAT:
            body["messages"] = [{"role": "user", "content": "say words"}]
        else:
            body["prompt"] = "say words: "
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", self.path, json.dumps(body))
            answer = connection.getresponse()
            if answer.status != 200:
                self.error = f"status {answer.status}"
                return
            for line in answer:
                if line.startswith(b"data: "):
                    self.hear(line[6:].strip())
        except (OSError, http.client.HTTPException) as error:
            self.error = repr(error)

    def hear(self, data):
        if data == b"[DONE]":
            self.done += 1
            return
        event = json.loads(data)
        if "error" in event:
            self.error = event["error"].get("message")
            return
        now = time.monotonic()
        self.longest_pause = max(self.longest_pause, now - (self._last or now))
        self._last = now
        self.ids.add(event["id"])
        for choice in event["choices"]:
            part = choice["text"] if self.path == TEXT else choice["delta"].get("content")
            self.text += part or ""
            self.ends += [choice["finish_reason"]] if choice["finish_reason"] else []

    def words(self):
        return len(self.text.split())

    def verdict(self):
        """(is it whole, in words)"""
        if self.error:
            return False, f"BROKEN after {self.words()} words: {self.error}"
        expected = [f"word{number}" for number in range(self.length)]
        found = self.text.split()
        if found != expected:
            seam = next((place for place, (one, other) in enumerate(zip(found, expected))
                         if one != other), min(len(found), self.length))  # fmt: skip
            return False, f"WRONG at word {seam}: ...{' '.join(found[max(0, seam - 2):seam + 2])}"
        if (len(self.ids), self.ends, self.done) != (1, ["length"], 1):
            return False, f"ENDED wrong: ids {len(self.ids)}, ends {self.ends}, {self.done} [DONE]"
        pause = 1000 * self.longest_pause
        return True, f"whole: word0 to word{self.length - 1}, one id; longest pause {pause:.0f} ms"


class Watcher(threading.Thread):
    """Prints how far the answers are, until they have ended."""

    def __init__(self, timeline, clients):
        super().__init__(daemon=True)
        self.timeline, self.clients = timeline, clients

    def run(self):
        while any(client.is_alive() for client in self.clients):
            self.timeline.say("clients", "words " + " ".join(
                f"{client.words():3}" for client in self.clients))  # fmt: skip
            time.sleep(0.5)


def moves(operators):
    """{why: number} of the answers that another worker has taken over."""
    connection = http.client.HTTPConnection("127.0.0.1", operators, timeout=10)
    connection.request("GET", "/metrics")
    found = {}
    for line in connection.getresponse().read().decode().splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("lastcall_router_migrations_total{") and 'why_not=""' in name:
            found[name.split('reason="')[1].split('"')[0]] = int(float(value))
    return found


def reach(clients, words):
    """Waits until each answer is that long, or has ended."""
    while any(client.is_alive() and client.words() < words for client in clients):
        time.sleep(0.01)


def not_ready(directory):
    for log in sorted(directory.rglob("*log")):
        print(f"not ready; the end of {log.relative_to(directory)}:", file=sys.stderr)
        print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
    return 1


def demonstrate(lastcall, router, directory):
    timeline, ended, begun = Timeline(), [], time.monotonic()
    port, operators = free_port(), free_port()
    registry = directory / "registry"
    registry.mkdir()
    config = directory / "router.yaml"
    config.write_text(ROUTER.format(port=port, operators=operators, registry=registry))
    started = [Worker(name, lastcall, directory) for name in ("first", "second")]
    with open(directory / "router.log", "wb") as log:
        front = subprocess.Popen([router, "--config", config], stdin=subprocess.DEVNULL, stderr=log)
    try:
        first, second = started
        if not (first.is_ready() and second.is_ready() and wait_ready(front, operators)):
            return not_ready(directory)
        length = length_for(time.monotonic() - begun)
        timeline.zero()
        timeline.say("demo", f"two engines under lastcall, a router at 127.0.0.1:{port}")
        clients = [Client(number, port, path, length) for number, path in enumerate(STREAMS, 1)]
        for client in clients:
            client.start()
        reach(clients, 1)
        timeline.say("demo", f"{len(clients)} answers of {length} words have begun")
        Watcher(timeline, clients).start()
        started.append(Worker("third", lastcall, directory))
        if not started[2].is_ready():
            return not_ready(directory)
        timeline.say("demo", "rollout: a third engine is ready; SIGTERM to the first")
        first.process.send_signal(signal.SIGTERM)
        ended.append(first.process.wait(30))
        timeline.say("demo", f"the first has handed over what it had, and exited with {ended[0]}")
        timeline.say("demo", "kill -9 of the second engine")
        os.kill(second.engine_pid(), signal.SIGKILL)
        ended.append(second.process.wait(30))
        timeline.say("demo", f"its lastcall reports a failure: exit code {ended[1]}")
        for client in clients:
            client.join(60)
        timeline.say("demo", "all answers have ended")
        moved = moves(operators)
    finally:
        for process in [front, *(worker.process for worker in started)]:
            if process.poll() is None:
                process.terminate()
        for process in [front, *(worker.process for worker in started)]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return conclude(clients, ended, moved)


def conclude(clients, ended, moved):
    print()
    verdicts = [client.verdict() for client in clients]
    for client, (_, words) in zip(clients, verdicts):
        kind = "chat" if client.path == CHAT else "text"
        print(f"answer {client.number} ({kind}) {words}")
    said = ", ".join(f"{count} ({why})" for why, count in sorted(moved.items())) or "none"
    print(f"answers that continued at another engine: {said}")
    problems = [] if all(is_whole for is_whole, _ in verdicts) else ["an answer is not complete"]
    problems += [] if ended == [0, 1] else [f"exit codes {ended}, expected [0, 1]"]
    problems += [] if moved else ["nothing had to move"]
    if problems:
        print("\nNOT clean: " + "; ".join(problems))
        return 1
    print(f"\nclean: {len(clients)} answers, each complete; "
          "no client noticed the rollout or the crash")  # fmt: skip
    return 0


def main():
    parser = argparse.ArgumentParser(description="shows answers that outlive their engines")
    parser.add_argument("lastcall", help="path of the lastcall binary")
    parser.add_argument("router", help="path of the lastcall-router binary")
    options = parser.parse_args()
    # The path is short on purpose: that of a Unix socket has at most 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="lastcall-demo-", dir="/tmp"))
    try:
        return demonstrate(options.lastcall, options.router, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
