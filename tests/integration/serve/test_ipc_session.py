"""The sessions by hand of docs/ipc.md: socat types and reads what is written there."""

import os
import re
import shlex
import signal
import subprocess

import pytest
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


def chapter():
    with open(os.path.join(ROOT, "docs/ipc.md"), encoding="utf-8") as file:
        return file.read().split("## A session with socat", 1)[1]


def blocks(kind):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", chapter(), re.MULTILINE | re.DOTALL)
    return [text for each, text in found if each == kind]


class Reader:
    """Follows the chapter, with ports and paths of its own."""

    def __init__(self, one):
        self.one = one
        [config] = blocks("yaml")
        with open(one.path("lastcall.yaml"), "w", encoding="utf-8") as file:
            file.write(self.own(config))
        [command] = blocks("sh")
        words = [LASTCALL if word == "lastcall" else word for word in shlex.split(command)]
        self.run = self.start(words, stdout=one._log, stderr=one._log)
        self.terminals = []

    def own(self, text):
        text = text.replace("7090", str(self.one.port))
        return text.replace("/tmp/lastcall-quick", self.one.path("q"))

    def start(self, words, **options):
        process = subprocess.Popen(words, cwd=self.one.directory, env={
            **os.environ, "LASTCALL_TERMINATION_LOG": self.one.path("none"),
        }, **options)  # fmt: skip
        self.one.processes.append(process)
        return process

    def follow(self, block, terminal=None):
        """Types and reads; a block that begins with no command goes on in that terminal."""
        for line in block.splitlines():
            if line.startswith("$ "):
                terminal = self.start(shlex.split(self.own(line[2:])), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)  # fmt: skip
            elif line.startswith("< "):
                expected = ".*".join(re.escape(part) for part in line[2:].split("..."))
                said = terminal.stdout.readline().decode().rstrip("\n")
                assert re.fullmatch(expected, said), f"expected {line[2:]}, got {said}"
            else:
                terminal.stdin.write(line.encode() + b"\n")
                terminal.stdin.flush()
        return terminal


@pytest.mark.timeout(120)
def test_the_sessions_by_hand_go_as_they_are_written(world):
    one = world()
    reader = Reader(one)
    one.wait_for_log('"phase begun","phase":"serving"')
    as_engine, as_operator, engine_again, at_the_end = blocks("")
    engine = reader.follow(as_engine)
    operator = reader.follow(as_operator)
    reader.follow(engine_again, engine)
    operator.stdin.close()
    assert operator.wait(PATIENCE) == 0
    reader.run.send_signal(signal.SIGINT)
    reader.follow(at_the_end, engine)
    assert wait_until(lambda: reader.run.poll() is not None) and reader.run.returncode == 0
    engine.stdin.close()
    engine.wait(PATIENCE)
    assert one.report()["requests"]["cancelled"] == 0  # it ended before the stop began
