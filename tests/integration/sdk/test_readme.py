"""The ten minutes of sdk/python/README.md, done as they are written there."""

import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
from asgi_world import ROOT, metric
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, free_port

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")


def chapter():
    with open(os.path.join(ROOT, "sdk/python/README.md"), encoding="utf-8") as file:
        return file.read().split("## In ten minutes", 1)[1].split("\n## ", 1)[0]


class Reader:
    """Follows the chapter, with ports and paths of its own."""

    def __init__(self, one):
        self.one = one
        one.engine_port = free_port()
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```", chapter(), re.MULTILINE | re.DOTALL)
        self.write("engine.py", "python")
        self.write("lastcall.yaml", "yaml")

    def own(self, text):
        for theirs, mine in (("8000", str(self.one.engine_port)), ("7090", str(self.one.port)),
                             ("/tmp/lastcall-quick", self.one.path("quick"))):  # fmt: skip
            text = text.replace(theirs, mine)
        return text

    def write(self, name, kind):
        [text] = [text for each, text in self.blocks if each == kind]
        with open(self.one.path(name), "w", encoding="utf-8") as file:
            file.write(self.own(text))

    def command(self, begin):
        """The words of the only command that begins so, without the comment after it."""
        commands = "\n".join(text for kind, text in self.blocks if kind == "sh")
        lines = commands.replace("\\\n", " ").splitlines()
        [line] = [line for line in lines if line.startswith(begin)]
        words = shlex.split(self.own(line), comments=True)
        programs = {"lastcall": LASTCALL, "python3": sys.executable}
        return [programs.get(word, word) for word in words]

    def start(self, begin, **options):
        process = subprocess.Popen(
            self.command(begin), cwd=self.one.directory, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "sdk/python"),
                 "LASTCALL_TERMINATION_LOG": self.one.path("none")}, **options,
        )  # fmt: skip
        self.one.processes.append(process)
        return process

    def call(self, begin):
        done = subprocess.run(self.command(begin), cwd=self.one.directory, timeout=PATIENCE,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def streaming(reader):
    """curl's process, once its first word came."""
    curl = reader.start("curl -N", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert curl.stdout.readline() == b"data: word0\n"
    return curl


def test_who_only_reads_the_readme_gets_an_engine_supervised(world):
    one = world()
    reader = Reader(one)
    run = reader.start("lastcall run", stdout=one._log, stderr=one._log)
    one.wait_for_log('"phase begun","phase":"serving"')

    first = streaming(reader)
    listed = wait_until(lambda: reader.call("lastcall requests"), "a request")
    assert "first" in listed and "chat_completions" in listed
    reader.call("lastcall cancel")
    rest = first.communicate(timeout=PATIENCE)[0]
    assert b"event: error" in rest and b"[DONE]" not in rest and first.returncode != 0

    left = streaming(reader)
    wait_until(lambda: "first" in reader.call("lastcall requests"), "the request")
    left.kill()
    left.communicate()
    wait_until(lambda: metric(one, "lastcall_cancels_total", reason="client_disconnect") == 1)

    last = streaming(reader)
    wait_until(lambda: "first" in reader.call("lastcall requests"), "the request")
    run.send_signal(signal.SIGINT)
    rest = last.communicate(timeout=PATIENCE)[0]
    assert b'"retryable":true' in rest and b"[DONE]" not in rest
    assert run.wait(PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 1
