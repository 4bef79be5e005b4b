"""How failures are contained: requests that end engines, slow fleets, the work of a dead engine."""

import collections
import contextlib
import http.server
import json
import re
import resource
import threading
import time

import pytest
import sim_fleet
from raw_engine import SSE_HEAD, chunk, ok, post
from router_world import Router, asks, static
from serve_peer import wait_until
from sim_fleet import User, sims

PIECE = (
    b'data: {"id":"a","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"t0 "}}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
)
AGAIN = PIECE.replace(b'"prompt_tokens":1', b'"prompt_tokens":2')
POISON = "the end of all engines"


def of(fleet):
    return static(*(each.address for each in fleet), model="sim")


def left(fleet, number):
    """A connection breaks a moment before its process has ended."""
    wait_until(lambda: sum(each.is_alive() for each in fleet) <= number, f"{number} engines live")
    assert sum(each.is_alive() for each in fleet) == number


def test_a_request_that_kills_its_engine_kills_two_of_a_fleet(router):
    with sims(4, "--dies-of", POISON) as fleet:
        one = router(of(fleet))
        killer = User(one.port, POISON).ended()
        assert killer.status == 502
        assert killer.error["type"] == "poison"
        assert killer.answer_headers["x-should-retry"] == "false"
        left(fleet, 2)
        (poison,) = [line for line in one.log().splitlines() if "engines have died" in line]
        assert f'"request_id":"{killer.answer_headers["x-request-id"]}"' in poison
        # Its client may not know, and sends it again.
        assert User(one.port, POISON).ended().status == 502
        left(fleet, 2)
        assert User(one.port, "somebody else").is_whole()
        assert one.metric("lastcall_router_refused_total", reason="poison") == 2


def test_an_answer_that_kills_its_engine_on_the_way_ends_behind_the_second(router):
    with sims(4, "--dies-of", POISON, "--dies-at", "5") as fleet:
        one = router(of(fleet))
        killer = User(one.port, POISON).ended()
        assert killer.error["reason"] == "engine_died_twice"
        assert (killer.error["type"], killer.error["retryable"]) == ("engine_error", False)
        assert killer.text.startswith(sim_fleet.answer(5).rstrip())
        left(fleet, 2)
        assert User(one.port, POISON).ended().status == 502
        left(fleet, 2)


def test_requests_beside_a_killer_are_answered(router):
    with sims(3, "--dies-of", POISON, "--prefill", "0.3") as fleet:
        one = router(of(fleet), log={"level": "debug"})
        others = [User(one.port, f"user {number}", tokens=5) for number in range(12)]
        killer = User(one.port, POISON)
        assert killer.ended().status == 502, one.log()
        assert all(user.is_whole() for user in others)
        left(fleet, 1)


def body(number):
    content = {"role": "user", "content": str(number)}
    return json.dumps({"model": "m", "stream": True, "messages": [content]}).encode()


def test_suspects_are_given_to_a_worker_one_at_a_time(router, engines):
    dying, living = engines
    one = router(dying.address, living.address)
    users = [one.client() for _ in range(6)]
    for number, user in enumerate(users):
        user.send(post(body=body(number)))
    wait_until(lambda: sum(each.connections() for each in engines) == 6, "all are with a worker")
    there, suspects = living.connections(), dying.connections()
    for _ in range(there):
        living.request()[0].until(b"}}")
    dead = [dying.request()[0] for _ in range(suspects)]
    dying.refuse()
    for wire in dead:
        wire.until(b"}}")
    for wire in dead:
        wire.close()
    for left in range(suspects, 0, -1):
        wire, _ = living.request()
        began = time.monotonic()
        while time.monotonic() - began < 0.2:  # longer than a pause between two tries
            assert not living.has_arrived()
        wire.send(SSE_HEAD + chunk(PIECE))
    assert one.metric("lastcall_router_failovers_total", reason="broken") == suspects


def begun_at_both(one, engines, number=6):
    """Requests for answers in one piece. Returns those of the first worker, and their users."""
    users = [one.client() for _ in range(number)]
    texts = [b'{"model":"m","input":"%d"}' % each for each in range(number)]
    for user, text in zip(users, texts, strict=True):
        user.send(post("/v1/embeddings", text))
    wait_until(lambda: sum(each.connections() for each in engines) == number, "all are there")
    wires = [[each.request()[0] for _ in range(each.connections())] for each in engines]
    for each in [*wires[0], *wires[1]]:
        each.until(b"}")
    return wires[0], users


def dies(engine, wires):
    engine.refuse()
    for wire in wires:
        wire.close()


SURVIVED_S = 5  # kSurvived of router/request_risk.hpp


def test_requests_that_an_engine_has_worked_on_for_long_are_no_suspects(router, engines):
    dying, living = engines
    one = router(dying.address, living.address)
    dead, _ = begun_at_both(one, engines)
    before, began = living.connections(), time.monotonic()
    wait_until(lambda: time.monotonic() > began + SURVIVED_S, "the engine has worked on them")
    dies(dying, dead)
    wait_until(lambda: living.connections() == before + len(dead), "all are there at once")


def test_the_next_suspect_follows_when_a_worker_has_survived_the_first(router, engines):
    dying, living = engines
    one = router(dying.address, living.address)
    dead, _ = begun_at_both(one, engines)
    dies(dying, dead)
    assert len(dead) > 1
    living.request()
    began = time.monotonic()
    living.request()  # although the first one has no answer yet
    assert time.monotonic() - began > SURVIVED_S / 2


def arrivals(fleet):
    return [each for each in fleet if each.has_arrived()]


def test_after_two_deaths_one_worker_in_all_has_a_suspect(router, engines, more_engines):
    dying, living = engines, more_engines
    one = router(*(each.address for each in (*dying, *living)))
    users = [one.client() for _ in range(16)]
    for number, user in enumerate(users):
        user.send(post(body=body(number)))
    fleet = [*dying, *living]
    wait_until(lambda: sum(each.connections() for each in fleet) == 16, "all are with a worker")
    for each in living:
        for _ in range(each.connections()):
            each.request()[0].until(b"}}")
    dead = [each.request()[0] for each in dying for _ in range(each.connections())]
    for each in dying:
        each.refuse()
    for wire in dead:
        wire.until(b"}}")
        wire.close()
    wait_until(
        lambda: one.metric("lastcall_router_failovers_total", reason="broken") == len(dead),
        "both deaths are known",
    )
    answered = 0
    for each in living:  # before the second death was known, each may have got one
        if each.has_arrived():
            each.request()[0].send(SSE_HEAD + chunk(PIECE))
            answered += 1
    while answered < len(dead):
        wait_until(lambda: arrivals(living), "the next one")
        wire, _ = arrivals(living)[0].request()
        began = time.monotonic()
        while time.monotonic() - began < 0.2:  # longer than a pause between two tries
            assert not arrivals(living)
        wire.send(SSE_HEAD + chunk(PIECE))
        answered += 1


def asked(fleet):
    """(the worker that has the next request, its connection)"""
    wait_until(lambda: arrivals(fleet), "a worker is asked")
    worker = arrivals(fleet)[0]
    return worker, worker.request()[0]


def answered(fleet, user):
    asked(fleet)[1].send(ok(b"an answer", "Connection: close"))
    assert user.until(b"an answer").startswith(b"HTTP/1.1 200 ")


def refused(user):
    """Its status, and the type of its error."""
    status = int(user.until(b"\r\n\r\n").split()[1])
    return status, json.loads(user.until(b"}}\n"))["error"]["type"]


def twins(router, fleet):
    """(router, two clients with the same body, their connections at two workers)"""
    one = router(*(each.address for each in fleet))
    users = [one.client() for _ in range(2)]
    wires = []
    for user in users:
        user.send(post(body=body("popular")))
        worker, wire = asked(fleet)
        wire.until(b"}}")
        wires.append((worker, wire))
    assert wires[0][0] is not wires[1][0]
    return one, users, wires


def vanish_together(one, wires):
    for worker, _ in wires:
        worker.refuse()
    for _, wire in wires:
        wire.close()
    assert one.counts("lastcall_router_failovers_total", 2, reason="broken")


def test_twins_whose_workers_vanish_together_are_answered_by_a_third(router, engines, more_engines):
    fleet = [*engines, more_engines[0]]
    one, users, wires = twins(router, fleet)
    [living] = [each for each in fleet if each not in (wires[0][0], wires[1][0])]
    vanish_together(one, wires)
    for _ in users:
        asked([living])[1].send(ok(b"an answer", "Connection: close"))
    assert all(user.until(b"an answer").startswith(b"HTTP/1.1 200 ") for user in users)
    assert one.metric("lastcall_router_refused_total") == 0


def test_of_twins_that_kill_their_workers_one_alone_kills_another(router, engines, more_engines):
    fleet = [*engines, *more_engines]
    one, users, wires = twins(router, fleet)
    vanish_together(one, wires)
    third, wire = asked([each for each in fleet if each not in (wires[0][0], wires[1][0])])
    third.refuse()
    wire.close()
    assert [refused(user) for user in users] == [(502, "poison")] * 2
    assert not arrivals(fleet)


# Where a path names the model, it may be all that distinguishes two requests.
A, B = "/v2/models/a/generate", "/v2/models/b/generate"


@pytest.mark.parametrize(
    ("deadly", "other", "text"),
    [(A, B, b'{"text_input":"hello"}'), ("/v1/embeddings", "/v1/rerank", b"")],
    ids=["of_another_model", "empty"],
)
def test_poison_at_one_path_is_no_poison_at_another(router, engines, deadly, other, text):
    one = router({"static": {"urls": [f"http://{each.address}" for each in engines]}})
    user = one.client()
    user.send(post(deadly, text))
    for _ in range(2):
        asked(engines)[1].close()
    assert refused(user) == (502, "poison")
    user.send(post(other, text))
    answered(engines, user)
    user = one.client()
    user.send(post(deadly, text))
    assert refused(user) == (502, "poison")
    assert not arrivals(engines)


NO_HTTP = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"


def test_workers_that_send_no_http_are_not_dead(router, engines):
    one = router(*(each.address for each in engines))
    text = b'{"model":"m","input":"hello"}'
    for _ in range(2):
        user = one.client()
        user.send(post("/v1/embeddings", text))
        for _ in range(2):
            asked(engines)[1].send(NO_HTTP)
        assert refused(user) == (502, "engine_error")
    user = one.client()
    user.send(post("/v1/embeddings", text))
    answered(engines, user)
    assert one.metric("lastcall_router_refused_total", reason="poison") == 0


def test_answers_that_go_on_are_paced(router, engines):
    only = engines[0]
    one = router(only.address, migration={"prefill_tokens": 1})
    users = [one.client() for _ in range(2)]
    wires = []
    for number, user in enumerate(users):
        user.send(post(body=body(number)))
        wires.append(only.request()[0])
    for user, wire in zip(users, wires, strict=True):
        wire.send(SSE_HEAD + chunk(PIECE))
        user.until(b"t0")
    for wire in wires:
        wire.close()
    wire, head = only.request()
    assert b"-m1\r\n" in head
    assert b"\r\nPriority: u=0\r\n" in head
    began = time.monotonic()
    while time.monotonic() - began < 0.2:  # longer than a pause between two tries
        assert not only.has_arrived()
    wire.send(SSE_HEAD + chunk(AGAIN))
    assert b"-m1\r\n" in only.request()[1]


def test_repeats_have_a_budget(router, engines):
    """In a fleet that answers no request in time, not everything is asked twice for ever."""
    one = router(*(each.address for each in engines), timeouts={"first_byte": "10ms"})
    number = 0
    while one.metric("lastcall_router_failovers_total", reason="timed_out") == 2 * number:
        number += 1
        assert number < 150
        status, _, _ = one.ask("POST", "/v1/completions", {"model": "m", "prompt": str(number)})
        assert status == 504
    assert number > 50  # each takes two of the hundred that an idle router has


DEAD = b'event: error\ndata: {"error":{"type":"engine_dead","retryable":true}}\n\n'


def test_where_memory_is_scarce_the_largest_answer_alone_can_go_on_no_more(router, engines):
    one = router(*(each.address for each in engines), limits={"max_buffer_memory": 4 << 20})
    begun = []
    for size in (100_000, *[400_000] * 5):  # half of 4 MiB is for all of them
        user = one.client()
        user.send(post(body=b'{"model":"m","stream":true,"messages":[{"content":"x"}]}'))
        wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
        wire, _ = next(each for each in engines if each.has_arrived()).request()
        wire.send(SSE_HEAD + chunk(PIECE.replace(b"t0 ", b"x" * size)))
        user.until(b'"}}]')
        begun.append((user, wire))
    assert one.counts("lastcall_router_records_dropped_total", 1)
    assert 1_700_000 <= one.metric("lastcall_router_record_bytes") <= 2 << 20
    ends = []
    for number, (user, wire) in enumerate(begun, 1):
        wire.send(chunk(DEAD))
        assert one.counts("lastcall_router_migrations_total", number)
        before = sum(ends)
        ends.append(one.metric("lastcall_router_migrations_total", why_not="memory") - before)
        if ends[-1]:
            assert b'"reason":"memory"' in user.rest()
        user.close()
    assert ends[0] == 0 and sum(ends) == 1, "a small one is kept"
    assert one.counts("lastcall_router_record_bytes", 0)


def test_ids_of_a_prompt_count_before_its_answer_begins(router, engines):
    one = router(engines[0].address)
    prompt = json.dumps(list(range(100_000))).encode()
    user = one.client()
    user.send(post("/v1/completions", b'{"model":"m","stream":true,"prompt":%b}' % prompt))
    engines[0].request()
    held = one.metric("lastcall_router_record_bytes")
    assert 400_000 <= held < 500_000
    user.close()
    wait_until(lambda: one.metric("lastcall_router_record_bytes") == 0, "nothing is held")


def test_memory_of_records_that_were_dropped_is_free_for_other_requests(router, engines):
    """What a silent stream still keeps is little, and it gives even that back at its end."""
    one = router(engines[0].address, limits={"max_buffer_memory": 4 << 20})
    for _ in range(2):
        begun = []
        for _ in range(14):  # of 400 kB each: all of them would be more than there is
            user = one.client()
            user.send(post(body=b'{"model":"m","stream":true,"messages":[{"content":"x"}]}'))
            wire, _ = engines[0].request()
            wire.send(SSE_HEAD + chunk(PIECE.replace(b"t0 ", b"x" * 400_000)))
            user.until(b'"}}]')
            begun.append((user, wire))
        for user, wire in begun:
            user.close()
            wire.rest()
        assert one.counts("lastcall_router_record_bytes", 0)
    assert one.metric("lastcall_router_records_dropped_total") > 0
    assert one.metric("lastcall_router_refused_total") == 0


def test_clients_above_the_limit_of_open_files_are_not_taken_for_dead_workers(tmp_path):
    # No answer ends before the last client has come.
    with sims(1, rate=8) as fleet, contextlib.closing(Router(tmp_path, [of(fleet)])) as one:
        one.start("prlimit", "--nofile=256:256")
        users = [User(one.port, f"user {number}") for number in range(130)]
        kinds = collections.Counter(
            user.error["type"] if user.ended().error else user.is_whole() for user in users
        )
        # Each client takes two, and a quarter is the router's own.
        assert kinds[True] >= 96
        assert set(kinds) == {True, "too_many_connections"}
        assert one.metric("lastcall_router_failovers_total") == 0
    warning = next(line for line in one.log().splitlines() if "limits.max_connections" in line)
    assert json.loads(warning)["connections"] == 96


class Answers(http.server.BaseHTTPRequestHandler):
    """A worker that keeps its connections."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def test_idle_connections_to_many_workers_take_no_descriptors_from_requests(tmp_path):
    chat = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with http.server.ThreadingHTTPServer(("0.0.0.0", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fleet = static(*(f"127.0.1.{number}:{server.server_port}" for number in range(1, 81)))
        with contextlib.closing(Router(tmp_path, [fleet])) as one:
            one.start("prlimit", "--nofile=64:64")
            kinds = collections.Counter(
                one.ask("POST", "/v1/chat/completions", chat)[0] for _ in range(400)
            )
            server.shutdown()
        assert kinds == {200: 400}, one.log()


MEGABYTE = 1 << 20


def may_map(one, more):
    """From now on it may have this many bytes more."""
    with open(f"/proc/{one.process.pid}/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.prlimit(one.process.pid, resource.RLIMIT_AS, (mapped + more,) * 2)


def is_refused_for_memory(one, number, path, text):
    status, head, body = one.ask("POST", path, text)
    assert (status, head["x-should-retry"]) == (503, "true")
    assert json.loads(body)["error"]["reason"] == "memory"
    return one.counts("lastcall_router_refused_total", number, reason="memory")


@pytest.mark.plain_build
def test_a_body_for_which_the_process_has_no_memory_is_refused(router, engines):
    one = router(engines[0].address)
    may_map(one, 80 * MEGABYTE)
    text = b'{"model":"m","stream":true,"messages":"%b"}' % (b"x" * 48 * MEGABYTE)
    assert is_refused_for_memory(one, 1, "/v1/chat/completions", text)
    may_map(one, 44 * MEGABYTE)
    # There is room for the body, but not for the ids that are read from it.
    text = b'{"model":"m","stream":true,"prompt":[%b1]}' % (b"1," * 7 * MEGABYTE)
    assert is_refused_for_memory(one, 2, "/v1/completions", text)
    asks(one, engines[0])
    assert one.metric("dynamo_frontend_inflight_requests") == 0


@pytest.mark.plain_build
@pytest.mark.parametrize("affinity", ["off", "prefix"])
def test_what_is_read_from_a_body_takes_no_more_memory_than_the_body(router, engines, affinity):
    one = router(engines[0].address, choosing={"affinity": affinity})
    may_map(one, 60 * MEGABYTE)
    many = b'"":1,' * (2 * MEGABYTE)
    for path, text in (
        ("responses", b'{"model":"m",%b"store":false}' % many),
        ("chat/completions", b'{"model":"m","stream":true,%b"messages":[]}' % many),
        ("chat/completions", b'{"model":"m","stream":true,"messages":[%b1]}' % (many[::5] * 4)),
        ("completions", b'{"model":"m","stream":true,"prompt":"x","stop":[%b1]}' % (many[::5] * 4)),
    ):
        user = one.client()
        user.send(post(f"/v1/{path}", text))
        wire, _ = engines[0].request()
        assert wire.exactly(len(text)) == text
        wire.send(ok(b"hello", "Connection: close"))
        user.until(b"hello")
    assert one.metric("lastcall_router_refused_total") == 0


def with_body(engine):
    """The next connection and the body that came on it."""
    wire, head = engine.request()
    return wire, wire.exactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))


@pytest.mark.plain_build
def test_a_worker_that_answers_needs_no_memory_for_the_ids_of_the_prompt(router, engines):
    one = router(engines[0].address)
    user = one.client()
    text = b'{"model":"m","stream":true,"prompt":[%b1]}' % (b"1," * 2 * MEGABYTE)
    user.send(post("/v1/completions", text))
    wire, _ = with_body(engines[0])
    may_map(one, 4 * MEGABYTE)
    wire.send(SSE_HEAD + chunk(PIECE) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"[DONE]")
    assert one.process.poll() is None


@pytest.mark.plain_build
def test_an_answer_for_whose_proof_there_is_no_memory_ends(router, engines):
    one = router(*(each.address for each in engines), migration={"by": "vllm_ids"})
    user = one.client()
    text = b'{"model":"m","stream":true,"prompt":[%b1]}' % (b"1," * 2 * MEGABYTE)
    user.send(post("/v1/completions", text))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    old = next(each for each in engines if each.has_arrived())
    wire, _ = with_body(old)
    piece = b'data: {"id":"a","choices":[{"index":0,"text":"t0","token_ids":[7]}]}\n\n'
    wire.send(SSE_HEAD + chunk(piece))
    user.until(b"t0")
    wire.send(chunk(DEAD))
    new = next(each for each in engines if each is not old)
    wire, body = with_body(new)
    assert b",7]" in body
    may_map(one, 4 * MEGABYTE)
    wire.send(SSE_HEAD)
    answer = user.rest()
    assert b"event: error" in answer and b'"reason":"memory"' in answer
    assert b'"type":"engine_dead"' in answer and b'"retryable":true' in answer
    assert one.metric("dynamo_frontend_inflight_requests") == 0


@pytest.mark.plain_build
def test_an_answer_for_whose_body_there_is_no_memory_ends(router, engines):
    one = router(*(each.address for each in engines))
    text = b'{"model":"m","stream":true,"messages":[{"content":"%b"}]}' % (b"x" * 8 * MEGABYTE)
    user = one.client()
    user.send(post(body=text))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    old = next(each for each in engines if each.has_arrived())
    wire, _ = old.request()
    wire.until(b"}]")
    wire.send(SSE_HEAD + chunk(PIECE))
    user.until(b"t0")
    may_map(one, 4 * MEGABYTE)
    wire.send(chunk(DEAD))
    answer = user.rest()
    assert b"event: error" in answer and b'"reason":"memory"' in answer
    assert b'"retryable":true' in answer
    assert one.counts("lastcall_router_moves_total", 1, kind="failure", outcome="refused")
    asks(one, next(each for each in engines if each is not old))
