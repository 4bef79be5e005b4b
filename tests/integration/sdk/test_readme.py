"""The ten minutes of the SDKs' READMEs, done as they are written there."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from asgi_world import ROOT, metric
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import BUILD, LASTCALL
from cpp_build import BUILD_TIME, settings


def chapter(readme):
    with open(os.path.join(ROOT, readme), encoding="utf-8") as file:
        return file.read().split("## In ten minutes", 1)[1].split("\n## ", 1)[0]


class Reader:
    """Follows the chapter, with ports and paths of its own."""

    def __init__(self, one, readme, **places):
        self.one = one
        one.engine_port = free_port()
        self.places = {"8000": str(one.engine_port), "7090": str(one.port),
                       "/tmp/lastcall-quick": one.path("quick"), **places}  # fmt: skip
        text = chapter(readme)
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.write("lastcall.yaml", "yaml")

    def own(self, text):
        for theirs, mine in self.places.items():
            text = text.replace(theirs, mine)
        return text

    def write(self, name, kind):
        text = next(text for each, text in self.blocks if each == kind)
        with open(self.one.path(name), "w", encoding="utf-8") as file:
            file.write(self.own(text))

    def command(self, begin):
        """The words of the only command that begins so, without the comment after it."""
        commands = "\n".join(text for kind, text in self.blocks if kind == "sh")
        lines = commands.replace("\\\n", " ").splitlines()
        [line] = [line for line in lines if line.startswith(begin)]
        words = shlex.split(self.own(line), comments=True)
        programs = {"lastcall": LASTCALL, "python3": sys.executable}
        return ["env", *(programs.get(word, word) for word in words)]  # some set variables first

    def start(self, begin, **options):
        process = subprocess.Popen(
            self.command(begin), cwd=self.one.directory, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "sdk/python"),
                 "LASTCALL_TERMINATION_LOG": self.one.path("none")}, **options,
        )  # fmt: skip
        self.one.processes.append(process)
        return process

    def call(self, begin, folder=None, timeout=PATIENCE):
        done = subprocess.run(self.command(begin), cwd=folder or self.one.directory,
                              timeout=timeout, capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def streaming(reader):
    """curl's process, once its first word came."""
    curl = reader.start("curl -N", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert re.match(rb"data: (word0|token)\n", curl.stdout.readline())
    return curl


def try_all_of_it(reader, words):
    """Starts, cancels, leaves and stops; `words` are what `lastcall requests` shows."""
    one = reader.one
    run = reader.start("lastcall run", stdout=one._log, stderr=one._log)
    one.wait_for_log('"phase begun","phase":"serving"')

    first = streaming(reader)
    listed = wait_until(lambda: reader.call("lastcall requests"), "a request")
    assert all(word in listed for word in words)
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
    assert b"event: error" in rest and b"[DONE]" not in rest
    assert run.wait(PATIENCE) == 0
    assert one.report()["requests"]["migrated"] == 1
    return rest


@pytest.mark.parametrize("number", range(2))
def test_a_configuration_of_the_readme_gives_no_warning(tmp_path, number):
    with open(os.path.join(ROOT, "sdk/python/README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```yaml\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "lastcall.yaml").write_text(blocks[number])
    check = [LASTCALL, "check", "--strict", "--config", str(tmp_path / "lastcall.yaml")]
    done = subprocess.run(check, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_steps_of_the_readme_alone_get_an_engine_supervised(world):
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    reader = Reader(world(), "sdk/python/README.md")
    reader.write("engine.py", "python")
    rest = try_all_of_it(reader, ["first", "chat_completions"])
    assert b'"retryable":true' in rest


def test_the_steps_of_the_readme_alone_get_a_cpp_engine_supervised(world, tmp_path, monkeypatch):
    """The commands that build are the reader's too; only the first, which builds all, is done."""
    prefix, built = str(tmp_path / "prefix"), str(tmp_path / "built")
    call = [["cmake", "--install", os.path.join(BUILD, "sdk/cpp"), "--prefix", prefix]]
    assert subprocess.run(*call, capture_output=True).returncode == 0
    example = str(tmp_path / "example")  # `make` builds beside the source
    shutil.copytree(os.path.join(ROOT, "examples/cpp_engine"), example)
    places = {"$HOME/lastcall": prefix, "build/cpp_engine": built, "examples/cpp_engine": example}
    reader = Reader(world(), "sdk/cpp/README.md", **places)
    compiler, flags = settings()
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("CXXFLAGS", flags)
    reader.call("cmake -S", folder=ROOT, timeout=BUILD_TIME)
    reader.call("cmake --build", folder=ROOT, timeout=BUILD_TIME)
    reader.call("PKG_CONFIG_PATH=", folder=ROOT, timeout=BUILD_TIME)
    assert os.access(os.path.join(example, "cpp_engine"), os.X_OK)
    assert b'"retryable":true' in try_all_of_it(reader, ["first", "completions"])
