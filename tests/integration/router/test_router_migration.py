"""A stream whose worker fails goes on at another one: one answer, whole, and equal to any other."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, chunk, post
from router_world import static
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM

TOKENS = 60
ANSWER = "".join(f"t{number} " for number in range(TOKENS))


class Reader(threading.Thread):
    """One user of the `openai` interface; what it has of its answer is `text`."""

    def __init__(self, port, chat=True, tokens=TOKENS, headers=None, **fields):
        super().__init__(daemon=True)
        self.port, self.chat = port, chat
        self.body = {"model": "sim", "stream": True, "max_tokens": tokens, **fields}
        self.body |= {"messages": [{"role": "user", "content": "x"}]} if chat else {"prompt": "x"}
        self.headers = {"Content-Type": "application/json", **(headers or {})}
        self.text, self.ids, self.reasons, self.usage, self.error = "", set(), [], [], None
        self.done = 0
        self.start()

    def run(self):
        path = "/v1/chat/completions" if self.chat else "/v1/completions"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(self.body), self.headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            for line in response:
                if line.startswith(b"data: [DONE]"):
                    self.done += 1
                elif line.startswith(b"data: "):
                    self.take(json.loads(line[6:]))

    def take(self, data):
        if "error" in data:
            self.error = data["error"]
            return
        self.ids.add(data["id"])
        if data.get("usage"):
            self.usage.append(data["usage"])
        for choice in data["choices"]:
            self.text += (choice["delta"].get("content") or "") if self.chat else choice["text"]
            if choice["finish_reason"]:
                self.reasons.append(choice["finish_reason"])

    def is_whole(self):
        self.join(3 * PATIENCE)
        assert not self.is_alive()
        assert self.error is None
        assert self.text.rstrip() == ANSWER.rstrip()
        assert (len(self.ids), self.reasons, self.done) == (1, ["length"], 1)
        return True


@pytest.fixture
def sims():
    """Two bare engines."""
    made = []
    for _ in range(2):
        port = free_port()
        made.append((port, subprocess.Popen(
            (sys.executable, ENGINE_SIM, "--port", str(port), "--rate", "40"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )))  # fmt: skip
    for port, _ in made:
        wait_until(lambda at=port: is_up(at), "the engine is up", patience=60)
    yield made
    for _, process in made:
        process.kill()
        process.wait()


def is_up(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def begun(readers):
    wait_until(lambda: all(len(each.text) > 20 for each in readers), "all have begun", patience=60)


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
def test_streams_go_on_when_their_engine_is_killed(router, sims, chat):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [Reader(one.port, chat) for _ in range(10)]
    begun(readers)
    sims[0][1].kill()
    assert all(reader.is_whole() for reader in readers)
    moved = one.metric("lastcall_router_migrations_total", reason="eof")
    assert 0 < moved <= len(readers)
    assert one.metric("dynamo_frontend_model_migration_total") == moved
    assert one.metric("dynamo_frontend_requests_total", status="success") == len(readers)


def test_streams_go_on_when_their_engine_is_frozen(router, sims):
    one = router(
        static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"),
        timeouts={"idle": "1s", "first_byte": "3s"},
    )
    readers = [Reader(one.port) for _ in range(6)]
    begun(readers)
    os.kill(sims[0][1].pid, signal.SIGSTOP)
    assert all(reader.is_whole() for reader in readers)
    assert one.metric("lastcall_router_migrations_total", reason="stall") > 0


def test_usage_is_that_of_one_request(router, sims):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [Reader(one.port, stream_options={"include_usage": True}) for _ in range(4)]
    begun(readers)
    sims[0][1].kill()
    assert all(reader.is_whole() for reader in readers)
    whole = {"prompt_tokens": 1, "completion_tokens": TOKENS, "total_tokens": TOKENS + 1}
    assert [reader.usage for reader in readers] == [[whole]] * 4


@pytest.mark.parametrize(
    ("asked", "word"),
    [({"n": 2}, "several_choices"), ({"response_format": {"type": "json_object"}}, "guided_output"),
     ({"headers": {"X-Lastcall-Migration": "never"}}, "forbidden")],
    ids=["n", "guided", "forbidden"],
)  # fmt: skip
def test_what_cannot_be_continued_ends_with_the_reason(router, sims, asked, word):
    one = router(static(f"127.0.0.1:{sims[0][0]}", model="sim"))
    reader = Reader(one.port, **asked)
    begun([reader])
    sims[0][1].kill()
    reader.join(PATIENCE)
    assert reader.error["reason"] == word
    assert (reader.done, reader.reasons) == (0, [])
    assert one.metric("lastcall_router_migrations_total", why_not=word) == 1


def test_a_drain_and_a_kill_of_supervised_workers_lose_nothing(router, world):
    workers = [world(ingress={"listen": f"127.0.0.1:{free_port()}"}) for _ in range(2)]
    for worker in workers:
        port = free_port()
        worker.config["ingress"]["upstream"] = f"127.0.0.1:{port}"
        # What runs is told to go elsewhere at once.
        worker.config["shutdown"]["grace_period"] = "5s"
        worker.run_engine("--rate", "20", port=port)
    addresses = [worker.config["ingress"]["listen"] for worker in workers]
    one = router(static(*addresses, model="sim"))
    readers = [Reader(one.port) for _ in range(6)]
    begun(readers)
    os.kill(workers[0].process.pid, signal.SIGTERM)
    assert all(reader.is_whole() for reader in readers)
    assert workers[0].process.wait(timeout=2 * PATIENCE) == 0
    assert one.metric("dynamo_frontend_requests_total", status="success") == len(readers)


PIECE = (
    b'data: {"id":"a","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"t0 "}}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
)
ASKED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'


def begun_by_one(router, engines):
    """(router, client with the begin of an answer, the worker's connection, the other worker)."""
    # Whoever has failed stays skipped.
    one = router(
        *(each.address for each in engines), choosing={"skip_first": "1h", "skip_most": "1h"}
    )
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.send(SSE_HEAD + chunk(PIECE))
    user.until(b"t0")
    return one, user, wire, engines[1 - number]


def test_a_stream_whose_chunks_are_none_goes_on_elsewhere(router, engines):
    one, user, wire, other = begun_by_one(router, engines)
    wire.send(b"no size\r\n")
    assert b"-m1\r\n" in other.request()[1]
    assert one.metric("lastcall_router_migrations_total", reason="eof", why_not="") == 1
    user.close()


def test_a_worker_that_takes_no_continuation_is_not_asked_again(router, engines):
    one, user, wire, other = begun_by_one(router, engines)
    wire.send(chunk(b""))
    refusing, head = other.request()
    assert b"-m1\r\n" in head
    refusing.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")
    assert b'"reason":"worker_cannot"' in user.rest()
    # It is as good as before for anybody else.
    user = one.client()
    user.send(post(body=ASKED))
    other.request()
