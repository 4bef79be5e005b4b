"""A stream whose worker fails goes on at another one: one answer, whole, and equal to any other."""

import concurrent.futures
import contextlib
import http.server
import json
import os
import signal
import socket
import threading
import time

import pytest
import sim_fleet
from ports import free_port
from raw_engine import SSE_HEAD, chunk, post
from router_world import static
from serve_peer import PATIENCE, wait_until
from serve_usage import children
from sim_fleet import TOKENS, User


@pytest.fixture
def sims():
    """Two bare engines."""
    with sim_fleet.sims(2) as made:
        yield [(each.port, each.process) for each in made]


def begun(readers):
    wait_until(lambda: all(len(each.text) > 20 for each in readers), "all have begun", patience=60)


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
def test_streams_go_on_when_their_engine_is_killed(router, sims, chat):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [User(one.port, chat) for _ in range(10)]
    begun(readers)
    sims[0][1].kill()
    assert all(reader.is_whole() for reader in readers)
    moved = one.metric("lastcall_router_migrations_total", reason="eof")
    assert 0 < moved <= len(readers)
    assert one.metric("dynamo_frontend_model_migration_total") == moved
    assert one.metric("lastcall_router_moves_total", kind="failure", outcome="continued") == moved
    assert one.metric("lastcall_router_pause_seconds_count", kind="failure") == moved
    assert one.counts("dynamo_frontend_queued_requests", 0)
    assert one.counts("dynamo_frontend_requests_total", len(readers), status="success")


def test_streams_go_on_when_their_engine_is_frozen(router, sims):
    one = router(
        static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"),
        migration={"stall": "1s"},
    )
    readers = [User(one.port) for _ in range(6)]
    begun(readers)
    os.kill(sims[0][1].pid, signal.SIGSTOP)
    assert all(reader.is_whole() for reader in readers)
    assert one.metric("lastcall_router_migrations_total", reason="stall") > 0


def test_a_router_that_stood_still_itself_takes_nobody_for_stalled(router, sims):
    one = router(
        static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"),
        migration={"stall": "1s"},
    )
    readers = [User(one.port, tokens=160) for _ in range(20)]
    begun(readers)
    os.kill(one.process.pid, signal.SIGSTOP)
    until = time.monotonic() + 2  # twice `stall`
    wait_until(lambda: time.monotonic() > until, "it has stalled for longer than `stall`")
    os.kill(one.process.pid, signal.SIGCONT)
    assert all(reader.is_whole() for reader in readers)
    assert one.metric("lastcall_router_migrations_total") == 0


def test_an_answer_that_comes_whole_leaves_a_frozen_engine_with_its_streams(router, sims):
    first, second = (f"127.0.0.1:{port}" for port, _ in sims)
    one = router(static(first, model="sim"), migration={"stall": "300ms"})
    stream, whole = User(one.port), User(one.port, stream=False)
    begun([stream])
    wait_until(lambda: one.metric("lastcall_router_connections", side="worker") == 2, "both")
    reload_with(one, first, second)
    os.kill(sims[0][1].pid, signal.SIGSTOP)
    assert stream.is_whole()
    assert whole.is_whole()
    assert one.metric("lastcall_router_failovers_total", reason="stalled") == 1


def reload_with(one, *addresses):
    one.config["workers"] = [static(*addresses, model="sim")]
    one.write_config()
    one.process.send_signal(signal.SIGHUP)
    assert one.counts("lastcall_router_workers", len(addresses))


def test_answers_that_come_whole_leave_an_engine_that_stops_reporting_its_load(router, sims):
    first, second = (f"127.0.0.1:{port}" for port, _ in sims)
    one = router(static(first, model="sim"), migration={"stall": "1s"},
                 load={"interval": "50ms", "max_age": "1s"})  # fmt: skip
    users = []
    for number in (1, 2):  # the second is reported while the first is there: it answers at work
        users.append(User(one.port, tokens=200, stream=False))
        assert one.counts("lastcall_router_worker_requests", number)
    reload_with(one, first, second)
    os.kill(sims[0][1].pid, signal.SIGSTOP)
    assert all(user.is_whole() for user in users)
    assert one.metric("lastcall_router_failovers_total", reason="stalled") == 2


class Blocking:
    """A server that computes on the thread that listens: it reports nothing while it works."""

    def __init__(self, seconds):
        self.told, self.answers = 0, 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.told += 1
                self.whole(b"vllm:num_requests_running 0\n")

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                threading.Event().wait(seconds)
                server.answers += 1
                self.whole(b"{}")

            def whole(self, text):
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def test_a_server_that_reports_nothing_while_it_works_keeps_its_answer(router):
    with contextlib.ExitStack() as opened:
        fleet = [opened.enter_context(contextlib.closing(Blocking(3))) for _ in range(2)]
        one = router(*(each.address for each in fleet), migration={"stall": "200ms"},
                     load={"interval": "20ms", "max_age": "100ms"})  # fmt: skip
        wait_until(lambda: all(each.told > 2 for each in fleet), "their loads are known")
        assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 200
        assert sum(each.answers for each in fleet) == 1
        assert one.metric("lastcall_router_failovers_total") == 0


def test_usage_is_that_of_one_request(router, sims):
    one = router(static(*(f"127.0.0.1:{port}" for port, _ in sims), model="sim"))
    readers = [User(one.port, stream_options={"include_usage": True}) for _ in range(4)]
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
def test_answers_that_cannot_be_continued_end_with_the_reason(router, sims, asked, word):
    one = router(static(f"127.0.0.1:{sims[0][0]}", model="sim"))
    reader = User(one.port, **asked)
    begun([reader])
    sims[0][1].kill()
    reader.join(PATIENCE)
    assert reader.error["reason"] == word
    assert (reader.done, reader.reasons) == (0, [])
    assert one.metric("lastcall_router_migrations_total", why_not=word) == 1
    assert one.metric("lastcall_router_moves_total", outcome="refused") == 1


def supervised(world):
    """Two engines below `lastcall run`, which are reached through its ingress."""
    workers = [world(ingress={"listen": f"127.0.0.1:{free_port()}"}) for _ in range(2)]
    for worker in workers:
        port = free_port()
        worker.config["ingress"]["upstream"] = f"127.0.0.1:{port}"
        # Running requests are asked to go elsewhere at once.
        worker.config["shutdown"]["grace_period"] = "5s"
        worker.run_engine("--rate", "20", port=port)
    return workers, static(*(each.config["ingress"]["listen"] for each in workers), model="sim")


def engine_of(worker):
    for pid in children(worker.process.pid):
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            if "engine_sim" in file.read():
                return pid
    raise AssertionError("no engine runs")


def test_a_drain_of_a_supervised_worker_loses_nothing(router, world):
    workers, source = supervised(world)
    one = router(source)
    readers = [User(one.port) for _ in range(6)]
    begun(readers)
    os.kill(workers[0].process.pid, signal.SIGTERM)
    assert all(reader.is_whole() for reader in readers)
    assert workers[0].process.wait(timeout=2 * PATIENCE) == 0
    assert one.counts("dynamo_frontend_requests_total", len(readers), status="success")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_streams_of_a_supervised_worker_go_on_when_its_engine_is(router, world, how):
    workers, source = supervised(world)
    one = router(source, migration={"stall": "1s"})
    readers = [User(one.port) for _ in range(6)]
    begun(readers)
    os.kill(engine_of(workers[0]), how)
    assert all(reader.is_whole() for reader in readers)
    reason = "engine_dead" if how == signal.SIGKILL else "stall"
    assert one.metric("lastcall_router_migrations_total", reason=reason) > 0
    assert one.counts("dynamo_frontend_requests_total", len(readers), status="success")


PIECE = (
    b'data: {"id":"a","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"t0 "}}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
)
ASKED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'


ENGINE_DEAD = b'event: error\ndata: {"error":{"type":"engine_dead","retryable":true}}\n\n'


def begun_by_one(router, engines):
    """(router, client with the start of an answer, the worker's connection, the other worker)."""
    # A worker that has failed stays skipped.
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
    assert one.metric("lastcall_router_migrations_total", reason="malformed", why_not="") == 1
    user.close()


def test_a_worker_that_takes_no_continuation_is_not_asked_again(router, engines):
    one, user, wire, other = begun_by_one(router, engines)
    wire.send(chunk(b""))
    refusing, head = other.request()
    assert b"-m1\r\n" in head
    refusing.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")
    assert b'"reason":"worker_cannot"' in user.rest()
    # It is as good as before for any other request.
    user = one.client()
    user.send(post(body=ASKED))
    other.request()


def test_a_client_that_takes_nothing_while_its_answer_moves_is_given_up(router, engines):
    one = router(*(each.address for each in engines), timeouts={"client": "500ms"})
    user = one.client()
    user.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    # More than the kernel takes for a client that does not read, and the end of the worker with it.
    large = PIECE.replace(b"t0 ", b"x" * 3_900_000)
    wire.send(SSE_HEAD + chunk(large + ENGINE_DEAD))
    asked, head = engines[1 - number].request()
    assert b"-m1\r\n" in head
    wait_until(lambda: one.metric("dynamo_frontend_disconnected_clients_total") == 1, "it left")
    assert one.metric("dynamo_frontend_disconnected_clients") == 1
    assert one.metric("dynamo_frontend_model_cancellation_total", request_type="stream") == 1
    asked.rest()  # and the worker is notified


def test_one_slow_stream_is_not_moved_while_its_worker_speaks(router, engines):
    one = router(engines[0].address, migration={"stall": "1s"})
    users, wires = [one.client() for _ in range(2)], []
    for user in users:
        user.send(post(body=ASKED))
        wires.append(engines[0].request()[0])
        wires[-1].send(SSE_HEAD + chunk(PIECE))
        user.until(b"t0")
    enough = threading.Event()

    def speak():
        while not enough.is_set():
            wires[0].send(chunk(PIECE))
            users[0].until(b"t0")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        speaks = pool.submit(speak)
        enough.wait(2.5)  # longer than a worker may be silent
        moved = one.metric("lastcall_router_migrations_total")
        enough.set()
        speaks.result()
    wires[0].close()
    wires[1].send(chunk(PIECE))
    users[1].until(b"t0")
    assert moved == 0


def test_a_worker_that_sends_a_head_and_no_body_is_left(router, engines):
    one = router(*(each.address for each in engines), migration={"stall": "100ms"})
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.send(SSE_HEAD)
    other, _ = engines[1 - number].request()
    other.send(SSE_HEAD + chunk(PIECE))
    user.until(b"t0")
    assert one.metric("lastcall_router_migrations_total", reason="stall") == 1


def test_a_stream_that_cannot_go_on_ends_when_its_worker_has_frozen(router, engines):
    one = router(engines[0].address, migration={"stall": "300ms", "wait": "0s"})
    chat, response = one.client(), one.client()
    response.send(post("/v1/responses", b'{"model":"m","stream":true,"input":"x"}'))
    begins = b'event: response.created\ndata: {"type":"response.created"}\n\n'
    engines[0].request()[0].send(SSE_HEAD + chunk(begins))
    response.until(b"created")
    chat.send(post(body=ASKED))
    engines[0].request()[0].send(SSE_HEAD + chunk(PIECE))
    answer = response.until(b"stalled for too long")
    assert b"event: error" in answer and b'"type":"timeout"' in answer


def test_a_chat_that_cannot_go_on_ends_when_its_worker_has_frozen(router, engines):
    one = router(engines[0].address, migration={"stall": "300ms", "wait": "0s"})
    user = one.client()
    user.send(post(body=ASKED[:-1] + b',"n":2}'))
    engines[0].request()[0].send(SSE_HEAD + chunk(PIECE))
    answer = user.until(b"stalled for too long") + user.rest()
    assert b'"type":"timeout"' in answer and b'"reason":"several_choices"' in answer


def test_a_stream_that_cannot_go_on_stays_while_its_worker_sends_it_events(router, engines):
    one = router(engines[0].address, migration={"stall": "1s", "wait": "0s"})
    chat, response = one.client(), one.client()
    chat.send(post(body=ASKED))
    engines[0].request()[0].send(SSE_HEAD + chunk(PIECE))
    chat.until(b"t0")
    response.send(post("/v1/responses", b'{"model":"m","stream":true,"input":"x"}'))
    wire, _ = engines[0].request()
    wire.send(SSE_HEAD)
    until, number = time.monotonic() + 3, 0  # three times as long as a worker may be silent
    while time.monotonic() < until:
        number += 1
        wire.send(chunk(b'data: {"number":%d}\n\n' % number))
        response.until(b'"number":%d}' % number)
    assert one.metric("lastcall_router_migrations_total", reason="stall") == 1  # the chat's


def piece_of(ids, text, completion, **more):
    usage = {"prompt_tokens": 2, "completion_tokens": completion, "total_tokens": 2 + completion}
    choice = {"index": 0, "delta": {"content": text}, "token_ids": ids}
    data = {"id": "a", "created": 1, "model": "m", "choices": [choice], "usage": usage, **more}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def asked_about(router, engines, *ids_of_pieces, **config):
    """(client, other worker, its question, the question's head): the first worker ends after these
    pieces, each with the text "bc" and several ids.
    """
    one = router(*(each.address for each in engines), migration={"by": "vllm_ids"},
                 choosing={"skip_first": "1h", "skip_most": "1h"}, **config)  # fmt: skip
    user = one.client()
    user.send(post(body=ASKED))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.send(SSE_HEAD + chunk(piece_of([10], "a", 1, prompt_token_ids=[1, 2])))
    sent = 1
    for ids in ids_of_pieces:
        sent += len(ids)
        wire.send(chunk(piece_of(ids, "bc", sent)))
        user.until(b'"bc"')
    wire.send(chunk(ENGINE_DEAD))
    other = engines[1 - number]
    question, head = other.request()
    assert head.startswith(b"POST /detokenize HTTP/1.1\r\n")
    return user, other, question, head


@pytest.fixture
def merged(router, engines):
    """(client, the other worker's question): the first one ends after an event of two ids."""
    user, other, question, head = asked_about(router, engines, [11, 12])
    assert b"-d\r\n" in head
    assert question.until(b"}") == b'{"model":"m","tokens":[11,12]}'
    return user, other, question


def test_ids_that_were_sent_together_are_proven_by_their_text(merged):
    user, _, question = merged
    answer = b'{"prompt":"bc"}'
    question.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    going_on = question.until(b"\r\n\r\n") + question.until(b"[1,2,10,11,12]}")  # kept alive
    assert b"-m1\r\n" in going_on
    question.send(SSE_HEAD + chunk(piece_of([13], "d", 1, prompt_token_ids=[1, 2, 10, 11, 12])))
    user.until(b'"d"')


@pytest.mark.parametrize(
    "answer",
    [b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"prompt":"bcd"}',
     b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", b"no answer\r\n\r\n", None],
    ids=["other", "unknown", "malformed", "silence"],
)  # fmt: skip
def test_without_that_proof_the_text_goes_on(merged, answer):
    _, other, question = merged
    if answer:
        question.send(answer)
        if answer.startswith(b"HTTP/1.1"):  # a whole answer, so its connection is used again
            assert b"-m1\r\n" in question.until(b"\r\n\r\n")
            question.until(b'{"role":"assistant","content":"abc"}')
            return
    wire, head = other.request()  # within timeouts.connect
    assert b"-m1\r\n" in head
    wire.until(b'{"role":"assistant","content":"abc"}')


def test_a_connection_on_which_the_question_is_not_whole_is_not_used_again(router, engines):
    """The rest of the question would be taken for the next request."""
    for each in engines:
        each.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    many = list(range(100_000, 500_000))  # twice as many are more than the buffers hold
    waits = {"timeouts": {"connect": "10m"}}  # a slow build takes seconds for as many ids
    user, other, question, _ = asked_about(router, engines, many, many, **waits)
    question.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
    going_on, head = other.request()
    assert b"-m1\r\n" in head
    going_on.until(b'{"role":"assistant","content":"abcbc"}')
    user.close()


def test_the_body_of_a_refusal_of_the_question_is_not_awaited(router, engines):
    waits = {"timeouts": {"connect": "10m"}}
    user, other, question, _ = asked_about(router, engines, [11, 12], **waits)
    question.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nno")
    wire, head = other.request()
    assert b"-m1\r\n" in head
    wire.until(b'{"role":"assistant","content":"abc"}')
    assert question.rest().endswith(b"}")  # the question, and then its end
    user.close()


def test_a_client_that_leaves_ends_the_question(merged):
    user, _, question = merged
    user.close()
    assert question.ended()
