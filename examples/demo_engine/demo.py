#!/usr/bin/env python3
"""Shows a clean stop: streams run, lastcall is stopped, nothing is lost silently.

    python3 demo.py PATH_TO_LASTCALL

Starts `lastcall run` with the demo engine, opens streams (some too long to finish), sends SIGTERM
in their middle, then one more request in each phase in which clients may still come, and prints
what happened. Exits 0 only if every stream completed, was visibly handed off, or was refused with
an error that can be retried elsewhere, and `lastcall run` exited 0.

It uses its own ports and directory, so several can run at once.
"""

import argparse
import http.client
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from demo_reader import StreamReader, refusal

HERE = Path(__file__).resolve().parent

# path, tokens: at 20 a second the small ones end within the drain, the others cannot.
STREAMS = [
    ("/v1/chat/completions", 60),
    ("/v1/chat/completions", 80),
    ("/v1/chat/completions", 100_000),
    ("/v1/completions", 60),
    ("/v1/completions", 100_000),
    ("/v1/completions", 100_000),
]
# These clients do not know of the stop. Each comes in another phase.
LATE = ["deregistering", "draining"]
LATE_TOKENS = 10


class Timeline:
    """Prints what happens, when it happens, in seconds from the signal."""

    def __init__(self):
        self._zero = time.monotonic()
        self._lock = threading.Lock()

    def zero(self):
        self._zero = time.monotonic()

    def say(self, who, what):
        with self._lock:
            print(f"{time.monotonic() - self._zero:+8.2f} s  {who:<9} {what}", flush=True)


# --- what a log line means


def parse_log(line):
    """A log line as a dict; text that is not JSON becomes its message."""
    try:
        entry = json.loads(line)
    except ValueError:
        entry = None
    return entry if isinstance(entry, dict) else {"message": line.rstrip("\n")}


def message_of(entry):
    return str(entry.get("message") or entry.get("msg") or entry.get("event") or "")


def report_of(entry):
    """The drain report that this line carries, or None: the object that has cause and exit code."""
    for candidate in (entry, *entry.values()):
        if isinstance(candidate, str) and candidate.startswith("{"):
            candidate = parse_log(candidate)
        if isinstance(candidate, dict) and {"cause", "exit_code"} <= candidate.keys():
            return candidate
    return None


def describe_log(entry):
    """One line for people, or None when this entry is not about the stop."""
    level = str(entry.get("level", "info")).lower()
    message = message_of(entry)
    about_stop = "phase" in entry or any(
        words in message
        for words in ("Active graceful endpoints", "Last endpoint completed", "shutdown complete",
                      "demo-engine:")
    )  # fmt: skip
    if not about_stop and level not in ("warn", "warning", "error", "critical"):
        return None
    known = ("phase", "outcome", "elapsed_ms", "left_ms", "in_flight")
    facts = [f"{key}={entry[key]}" for key in known if key in entry]
    return " ".join([message, *facts])


# --- the demonstration


def run_stream(number, port, path, tokens, timeline, started, results):
    name, reader, cut = f"stream {number}", StreamReader(), False

    def tell(is_fine, words):
        started[number].set()
        timeline.say(name, words if is_fine else f"LOST: {words}")
        results[number] = is_fine

    timeline.say(name, f"POST {path}, {tokens} tokens")
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        body = json.dumps({"model": "demo", "stream": True, "max_tokens": tokens})
        connection.request("POST", path, body, {"X-Request-Id": f"demo-{number}"})
        answer = connection.getresponse()
        if answer.status != 200:
            is_fine, words = refusal(answer.status, answer.read())
            return tell(is_fine, words)
        while data := answer.read1(65536):
            reader.feed(data)
            if reader.tokens:
                started[number].set()
    except (OSError, http.client.HTTPException):
        cut = True  # among others IncompleteRead: no final chunk
    tell(*reader.verdict(cut))


def read_log(stream, timeline, entries, phases):
    for line in stream:
        entry = parse_log(line)
        entries.put(entry)
        if message_of(entry) == "phase begun" and entry.get("phase") in phases:
            phases[entry["phase"]].set()
        words = describe_log(entry)
        if words and report_of(entry) is None:
            timeline.say("lastcall", words)


def wait_ready(process, port, timeout=30):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def private_config(directory, engine_port, probe_port):
    """The example's config with its own ports and directory."""
    text = (HERE / "lastcall.yaml").read_text()
    for old, new in (("/tmp/lastcall-demo", str(directory)), (":8000", f":{engine_port}"),
                     (":7090", f":{probe_port}")):  # fmt: skip
        text = text.replace(old, new)
    path = directory / "lastcall.yaml"
    path.write_text(text)
    for each in ("registry", "admin"):
        (directory / each).mkdir()
    return path


def demonstrate(lastcall, directory, rate):
    engine_port, probe_port = free_port(), free_port()
    config = private_config(directory, engine_port, probe_port)
    timeline, entries, results = Timeline(), queue.Queue(), {}
    process = subprocess.Popen(
        [lastcall, "run", "--config", config, "--", sys.executable, HERE / "demo_engine.py",
         "--port", str(engine_port), "--rate", str(rate)],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    phases = {phase: threading.Event() for phase in LATE}
    log = threading.Thread(
        target=read_log, args=(process.stderr, timeline, entries, phases), daemon=True
    )
    log.start()
    try:
        if not wait_ready(process, probe_port):
            print(f"not ready: exit code {process.poll()}", file=sys.stderr)
            return 1
        timeline.say("demo", f"ready; the registry holds {os.listdir(directory / 'registry')}")
        late = [("/v1/chat/completions", LATE_TOKENS) for _ in LATE]
        started = {number: threading.Event() for number in numbers()}
        threads = [
            threading.Thread(
                target=run_stream,
                args=(number, engine_port, path, tokens, timeline, started, results),
            )
            for number, (path, tokens) in enumerate(STREAMS + late, 1)
        ]
        for thread in threads[: len(STREAMS)]:
            thread.start()
        for number in range(1, len(STREAMS) + 1):
            started[number].wait(30)
        time.sleep(10 / rate)  # into the middle: some ten tokens of each
        timeline.zero()
        timeline.say("demo", "SIGTERM to lastcall")
        process.send_signal(signal.SIGTERM)
        for phase, thread in zip(LATE, threads[len(STREAMS) :]):
            phases[phase].wait(30)
            thread.start()
        for thread in threads:
            thread.join(120)
        code = process.wait(60)
        timeline.say("demo", f"lastcall exited with {code}")
        log.join(5)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return conclude(code, list(entries.queue), results, directory)


def numbers():
    return range(1, len(STREAMS) + len(LATE) + 1)


def conclude(code, entries, results, directory):
    reports = [report for report in map(report_of, entries) if report is not None]
    if reports:
        print("\ndrain report:\n" + json.dumps(reports[-1], indent=2))
    lost = [number for number in numbers() if not results.get(number)]
    left = os.listdir(directory / "registry")
    problems = [f"streams lost: {lost}"] * bool(lost)
    problems += [f"exit code {code}"] * (code != 0)
    problems += ["no drain report in the log"] * (not reports)
    problems += [f"still registered: {left}"] * bool(left)
    if problems:
        print("\nNOT clean: " + "; ".join(problems))
        return 1
    print(f"\nclean: {len(numbers())} requests, "
          "each completed, handed off or refused with an error")  # fmt: skip
    return 0


def main():
    parser = argparse.ArgumentParser(description="shows a clean stop")
    parser.add_argument("lastcall", help="path of the lastcall binary")
    parser.add_argument("--rate", type=float, default=20.0, help="tokens per second")
    options = parser.parse_args()
    # The path is short on purpose: that of a Unix socket has at most 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="lastcall-demo-", dir="/tmp"))
    try:
        return demonstrate(options.lastcall, directory, options.rate)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
