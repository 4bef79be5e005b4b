"""What a user of the Python package `openai` sees of a refusal and of a cut: docs/ingress.md."""

import json
import os
import signal
import subprocess
import sys

import pytest
from raw_engine import SSE_HEAD, chunk, metric, stream
from serve_peer import PATIENCE, wait_until
from serve_world import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.abspath(os.path.join(BUILD, "../tools/openai-python"))
FIRST = (b'{"id":"1","object":"chat.completion.chunk",'
         b'"choices":[{"index":0,"delta":{"content":"one"}}]}')  # fmt: skip


@pytest.fixture(scope="module")
def package():
    script = os.path.join(HERE, "../router/openai_python.sh")
    done = subprocess.run([script, FOLDER], capture_output=True, timeout=150, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot install the package openai: {done.stderr.strip()[-300:]}")


@pytest.fixture
def user(package):
    """Starts users, whose settings are the package's own."""
    made = []

    def start(one):
        command = (sys.executable, os.path.join(HERE, "openai_user.py"), str(one.ingress_port))
        made.append(subprocess.Popen((*command, FOLDER), stdout=subprocess.PIPE, text=True))
        return made[-1]

    yield start
    for each in made:
        each.kill()
        each.wait()
        each.stdout.close()


def seen_by(process):
    return json.loads(process.communicate(timeout=3 * PATIENCE)[0].splitlines()[-1])


def rejected(one):
    return metric(one, "lastcall_requests_total", outcome="rejected")


def test_a_refusal_is_sent_again_twice_and_then_raised(proxy, engine, user):
    one = proxy()
    _, wire = stream(one, engine)
    one.operator().ask("drain", exit=False)
    one.wait_for_phase("draining")
    seen = seen_by(user(one))
    assert (seen["error"], seen["status"], seen["type"]) == ("InternalServerError", 503, "draining")
    assert seen["body"]["retryable"] is True and seen["text"] == ""
    wait_until(lambda: rejected(one) == 3, "two more than asked for")
    wire.close()


def test_requests_that_may_not_be_sent_again_are_not(proxy, engine, user):
    one = proxy()
    process = user(one)
    wire, _ = engine.request()
    wire.close()  # it may have worked on it
    seen = seen_by(process)
    assert (seen["error"], seen["status"]) == ("InternalServerError", 502)
    assert (seen["type"], seen["body"]["retryable"]) == ("engine_error", False)
    assert not engine.has_arrived()


def test_a_cut_is_raised_in_the_iteration_and_not_sent_again(proxy, engine, user):
    one = proxy()
    process = user(one)
    wire, _ = engine.request()
    wire.send(SSE_HEAD + chunk(b"data: " + FIRST + b"\n\n"))
    assert process.stdout.readline() == "begun\n"
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    seen = seen_by(process)
    assert (seen["error"], seen["text"]) == ("APIError", "one")
    assert (seen["type"], seen["code"]) == ("engine_dead", 503)
    assert seen["body"]["retryable"] is True and seen["body"]["events_sent"] == 1
    assert not engine.has_arrived()
