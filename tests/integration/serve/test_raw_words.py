"""Words that look like lists, options or nothing reach the program that they are meant for, byte
for byte."""

import json
import sys

import pytest
from ports import free_port
from serve_world import lastcall

# Replaces the shim: prints what it was called with.
PRINTS_ITS_WORDS = f"""#!{sys.executable}
import json, os, sys
print(json.dumps([os.fsencode(word).decode("latin-1") for word in sys.argv[1:]]))
"""


@pytest.fixture
def run(tmp_path):
    """Runs `lastcall run` with a shim that only prints what it was called with."""
    shim = tmp_path / "shim"
    shim.write_text(PRINTS_ITS_WORDS)
    shim.chmod(0o755)
    sets = [f"ipc.socket={tmp_path}/l.sock", f"ipc.admin_socket={tmp_path}/a.sock",
            f"probes.listen=127.0.0.1:{free_port()}"]  # fmt: skip

    def start(*words):
        options = [part for each in sets for part in ("--set", each)]
        return lastcall("run", "-c", "/dev/null", *options, *words, LASTCALL_SHIM=str(shim))

    return start


@pytest.mark.parametrize("words", [
    ("vllm", "serve", "M", "--sizes", "[8]"),
    ("engine", "[1,2,4]"),
    ("engine", "[]"),
    ("engine", "[[1],[2]]", "[", "]", "{}", "", "--", "--help", "-c", "x=[y]", "\x01[z]", '"q"'),
    ("[engine]",),
], ids=" ".join)  # fmt: skip
def test_the_engine_gets_its_arguments_as_they_were_typed(run, words):
    done = run("--", *words)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported[reported.index("--") + 1 :] == list(words)


def test_a_command_without_dashes_before_it_is_refused(run):
    for words in (("engine",), ("[a,b]", "--", "engine"), ("[]", "--", "engine")):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "expected `--` before the command" in done.stderr


def test_a_request_whose_id_looks_like_a_list_is_cancelled_by_it(served):
    peer = served.peer()
    ids = ["[a,b]", "[]", "a", "\x01[c]"]
    for each in ids:
        peer.ask("request.begin", id=each, root=f"[{each}]", endpoint="generate")

    def cancel(*words):
        return lastcall("cancel", "--admin-socket", served.admin_socket, *words)

    assert cancel("[a,b]").stdout == "asked to stop\n"
    peer.expect("cancel", ids=["[a,b]"])
    assert cancel("--", "[]").stdout == "asked to stop\n"
    peer.expect("cancel", ids=["[]"])
    assert cancel("\x01[c]").stdout == "asked to stop\n"
    peer.expect("cancel", ids=["\x01[c]"])
    assert cancel("--root", "[a]").stdout == "asked to stop\n"
    peer.expect("cancel", ids=["a"])


def test_a_word_that_is_refused_is_shown_as_it_was_typed(tmp_path):
    assert "[x]" in lastcall("version", "[x]").stderr
    assert "\x01" not in lastcall("version", "[x]").stderr
    named = lastcall("status", "--admin-socket", "[x]").stderr
    assert "[x]" in named and "\x01" not in named
