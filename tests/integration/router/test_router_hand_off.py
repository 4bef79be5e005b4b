"""A draining worker names the streams that it will cut, and the router moves them before."""

import fcntl
import json
import os
import signal
import socket
import struct
import termios
import time

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, RawEngine, Wire, chunk, post
from router_world import static
from serve_peer import PATIENCE, wait_until
from sim_fleet import User
from test_router_rejection import Teller


def begun(users):
    wait_until(lambda: all(len(each.text) > 20 for each in users), "all have begun", patience=60)


@pytest.fixture
def worker(world):
    def make(rate, **shutdown):
        one = world(ingress={"listen": f"127.0.0.1:{free_port()}"})
        port = free_port()
        one.config["ingress"]["upstream"] = f"127.0.0.1:{port}"
        one.config["shutdown"].update({"grace_period": "30s", **shutdown})
        one.run_engine("--rate", str(rate), port=port)
        one.port = int(one.config["ingress"]["listen"].rpartition(":")[2])
        return one

    return make


@pytest.mark.parametrize("hand_off", ["early", "off"])
def test_only_those_that_announced_themselves_get_the_hint(worker, hand_off):
    one = worker(20, hand_off=hand_off)
    told = User(one.port, headers={"X-Lastcall-Router": "1", "X-Request-Id": "r1"})
    other = User(one.port)
    begun([told, other])
    os.kill(one.process.pid, signal.SIGTERM)
    assert told.is_whole()
    assert other.is_whole()
    assert other.comments == []
    hints = [each for each in told.comments if each.startswith(": lastcall-handoff ")]
    assert len(hints) == (hand_off == "early")
    if hints:
        start = ': lastcall-handoff {"request_id": "r1", "deadline_ms": '
        assert hints[0].startswith(start)
        assert 10_000 < int(hints[0][len(start) :].rstrip("}")) < 30_000


def test_long_streams_leave_a_draining_worker_before_it_cuts_them(router, worker):
    leaving, staying = worker(20, hand_off="early", grace_period="10s"), worker(20)
    one = router(static(f"127.0.0.1:{leaving.port}", f"127.0.0.1:{staying.port}", model="sim"))
    users = [User(one.port, f"user {number}", tokens=240) for number in range(8)]
    begun(users)
    began = time.monotonic()
    os.kill(leaving.process.pid, signal.SIGTERM)
    assert leaving.process.wait(timeout=2 * PATIENCE) == 0
    # Sooner than its streams would have been whole; they run on.
    assert not any(user.done for user in users)
    assert time.monotonic() - began < 12
    assert all(user.is_whole() for user in users)
    moved = one.metric("lastcall_router_migrations_total", reason="hand_off")
    assert moved > 0
    assert one.metric("lastcall_router_moves_total", kind="planned", outcome="continued") == moved
    assert one.metric("lastcall_router_pause_seconds_count", kind="planned") == moved
    assert one.metric("lastcall_router_migrations_total", reason="migrated") == 0
    assert one.counts("dynamo_frontend_requests_total", len(users), status="success")


def piece(number, prompt=1, made=1):
    return (
        b'data: {"id":"a","created":1,"model":"m",'
        b'"choices":[{"index":0,"delta":{"content":"t%d "}}],'
        b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":2}}\n\n'
        % (number, prompt, made)
    )


def hint(deadline_ms):
    return b': lastcall-handoff {"request_id": "x", "deadline_ms": %d}\n\n' % deadline_ms


ASKED = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
AT_ONCE = {"skip_first": "1ms", "skip_most": "1ms"}  # for a worker that broke
MIGRATED = b'event: error\ndata: {"error":{"type":"migrated","code":503,"retryable":true}}\n\n'
END = b'data: {"id":"a","created":1,"model":"m","choices":[{"index":0,"delta":{},' \
      b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'  # fmt: skip


def limited(most):
    return ASKED[:-1] + b',"max_tokens":%d}' % most


def asked(one, engines, body=ASKED, user=None):
    """(client, its worker's connection, the other worker)"""
    user = user or one.client()
    user.send(post(body=body))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, head = engines[number].request()
    assert b"\r\nX-Lastcall-Router: 1\r\n" in head
    wire.until(b"}")
    return user, wire, engines[1 - number]


@pytest.fixture
def hinted(router, engines, request):
    """(router, client, old worker's connection, other worker, its warming request)."""
    deadline_ms = getattr(request, "param", 9000)
    one = router(*(each.address for each in engines), migration={"stall": None})
    user, wire, other = asked(one, engines)
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(deadline_ms)))
    user.until(b"t0")
    warming, head = other.request()
    assert b"-w\r\n" in head
    warming.until(b'"max_tokens":1}')
    return one, user, wire, other, warming


def warmed(wire, other, warming):
    """The other worker has it in its cache; its continuation."""
    warming.send(SSE_HEAD + chunk(piece(1, prompt=2)) + b"0\r\n\r\n")
    warming.close()

    def is_asked():  # the router looks with each event of the old leg
        wire.send(chunk(b": still here\n\n"))
        return other.has_arrived()

    wait_until(is_asked, "the other worker is asked to go on")
    return other.request()


def test_output_of_the_old_leg_is_let_through_where_the_new_one_fails(hinted):
    one, user, wire, other, warming = hinted
    wire.send(chunk(piece(1)))
    user.until(b"t1")
    following, head = warmed(wire, other, warming)
    assert b"-m1\r\n" in head
    wire.send(chunk(piece(2)))
    following.send(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
    user.until(b"t2")
    wire.send(chunk(END) + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 0


def has_closed(wire):
    """The router has; what it sent before is read."""
    wire.socket.setblocking(False)
    try:
        while wire.socket.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False


def test_a_worker_whose_output_is_held_is_not_taken_for_silent(router, engines):
    """The other one, which never answers, is: the answer goes on where it was."""
    one = router(*(each.address for each in engines), migration={"stall": "700ms"})
    user, wire, other = asked(one, engines)
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(60_000)))
    user.until(b"t0")
    warming, _ = other.request()
    warming.until(b'"max_tokens":1}')
    following, _ = warmed(wire, other, warming)

    def is_given_up():
        wire.send(chunk(b": still here\n\n"))
        return has_closed(following)

    wait_until(is_given_up, "the other worker is given up")
    wire.send(chunk(piece(1)) + chunk(END) + b"0\r\n\r\n")
    assert b"t1" in user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 0


def test_output_of_the_old_leg_behind_the_cut_is_dropped(hinted):
    one, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    wire.send(chunk(piece(1).replace(b"t1", b"never seen")))
    following.send(SSE_HEAD + chunk(piece(1, prompt=2)))
    assert b"never seen" not in user.until(b"t1")
    wire.rest()  # and no more
    following.send(chunk(END) + b"0\r\n\r\n")
    assert b"never seen" not in user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total", reason="hand_off") == 1


def slow_client(one):
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", one.port))
    return Wire(slow)


def unread(wire):
    return struct.unpack("i", fcntl.ioctl(wire.socket, termios.FIONREAD, b"\0" * 4))[0]


def has_read(wire):
    """The router has read all that it was sent on this connection."""
    ours, theirs = wire.socket.getsockname()[1], wire.socket.getpeername()[1]
    queues = {}
    with open("/proc/net/tcp", encoding="utf-8") as table:
        for line in list(table)[1:]:
            _, local, remote, _, queue, *_ = line.split()
            ports = tuple(int(each.rpartition(":")[2], 16) for each in (local, remote))
            queues[ports] = [int(each, 16) for each in queue.split(":")]  # to send, to read
    # The table is not read at once, so a connection may be missing.
    ends = queues.get((ours, theirs)), queues.get((theirs, ours))
    return None not in ends and ends[0][0] == 0 and ends[1][1] == 0


def test_output_of_the_new_leg_does_not_follow_what_was_held_while_the_client_does_not_read(
    router, engines
):
    """The old leg has sent too much to be held, and its client takes that only later."""
    one = router(*(each.address for each in engines), migration={"stall": None})
    user, wire, other = asked(one, engines, user=slow_client(one))
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(60_000)))
    user.until(b"t0")
    user.until(b"\n\n\r\n")
    warming, _ = other.request()
    # The cut is made within an event that is larger than what the kernel takes.
    large = piece(1, made=2).replace(b"t1 ", b"t1 " + b"x" * 3_900_000)
    begin, end = large[:3_900_000], large[3_900_000:]
    wire.send(chunk(begin))
    wait_until(lambda: has_read(wire), "the begin of the event is read")
    warming.until(b'"max_tokens":1}')
    warming.send(SSE_HEAD + chunk(piece(1, prompt=2)) + b"0\r\n\r\n")
    warming.close()

    def is_asked():
        wire.send(chunk(b"x"))  # of its text
        return other.has_arrived()

    wait_until(is_asked, "the other worker is asked to go on")
    following, head = other.request()
    assert b"-m1\r\n" in head
    wire.send(chunk(end) + chunk(piece(2, made=3).replace(b"t2 ", b"t2 " + b"y" * 70_000)))
    wait_until(lambda: unread(user) > 0, "what was held is on its way")
    following.send(SSE_HEAD + chunk(piece(1, prompt=2).replace(b"t1", b"never seen")))
    wire.send(chunk(END) + b"0\r\n\r\n")
    said = user.until(b"[DONE]")
    assert b"never seen" not in said
    assert b"t1 x" in said and b"t2 y" in said
    following.rest()  # and no more
    assert one.metric("lastcall_router_migrations_total") == 0


def test_an_error_in_what_was_held_is_counted_as_what_it_is(hinted):
    one, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    wire.send(chunk(b'data: {"error":{"message":"no","code":404}}\n\n'))
    wait_until(lambda: has_read(wire), "the error is held")
    following.send(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
    user.until(b'"code":404')
    assert one.counts("dynamo_frontend_requests_total", 1, error_type="not_found")


def test_an_error_of_the_new_leg_is_counted_as_what_it_is(hinted):
    one, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    error = b'data: {"error":{"message":"no","code":400}}\n\n'
    following.send(SSE_HEAD + chunk(piece(1, prompt=2) + error))
    user.until(b'"code":400')
    assert one.counts("dynamo_frontend_requests_total", 1, error_type="validation")


def test_a_connection_on_which_the_warming_request_is_not_whole_is_not_used_again(router, engines):
    """The rest of that request would be taken for the next one."""
    for each in engines:
        each.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one = router(*(each.address for each in engines), migration={"stall": None})
    large = ASKED.replace(b'"x"', b'"%b"' % (b"x" * 6_000_000))
    user = one.client()
    user.send(post(body=large))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    (wire, _), other = engines[number].request(), engines[1 - number]
    wire.exactly(len(large))
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(60_000)))
    user.until(b"t0")
    warming, head = other.request()
    assert b"-w\r\n" in head
    warming.send(SSE_HEAD + chunk(piece(1, prompt=2)) + b"0\r\n\r\n")

    def is_asked():
        wire.send(chunk(b": still here\n\n"))
        return other.has_arrived()

    wait_until(is_asked, "the other worker is asked to go on, on another connection")
    following, head = other.request()
    assert b"-m1\r\n" in head
    following.until(b'"continue_final_message":true')


def test_a_client_that_leaves_in_a_hand_off_ends_both_legs(hinted):
    _, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)
    user.close()
    wire.rest()  # and no more
    following.rest()


def test_the_cut_waits_until_the_other_worker_has_the_prompt_in_its_cache(hinted):
    _, user, wire, other, warming = hinted
    for number in range(1, 4):
        wire.send(chunk(piece(number, made=number + 1)))
        user.until(b"t%d" % number)  # the client has all of it meanwhile
    assert not other.has_arrived()
    following, head = warmed(wire, other, warming)
    assert b"-m1\r\n" in head
    assert b"t0 t1 t2 t3" in following.until(b'"continue_final_message":true')


def test_a_worker_without_a_cache_of_prompts_is_not_warmed(router):
    port = free_port()
    leaving, coming = engines = [RawEngine("127.0.0.1"), RawEngine("127.0.0.2")]
    tellers = [Teller(host, port) for host in ("127.0.0.1", "127.0.0.2")]
    for teller in tellers:
        teller.tells('vllm:cache_config_info{block_size="16",enable_prefix_caching="False"} 1.0')
    try:
        one = router(leaving.address, coming.address, migration={"stall": None},
                     load={"interval": "20ms", "port": port})  # fmt: skip
        wait_until(lambda: all(each.asked > 1 for each in tellers), "both have reported")
        user, wire, other = asked(one, engines)
        wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(9000)))
        user.until(b"t0")

        def is_asked():  # the router looks with each event of the old leg
            wire.send(chunk(b": still here\n\n"))
            return other.has_arrived()

        wait_until(is_asked, "the other worker is asked to go on")
        following, head = other.request()
        assert b"-m1\r\n" in head
        following.send(SSE_HEAD + chunk(piece(1, prompt=2)) + chunk(END) + b"0\r\n\r\n")
        user.until(b"[DONE]")
        assert one.metric("lastcall_router_migrations_total", reason="hand_off") == 1
    finally:
        for each in [*engines, *tellers]:
            each.close()


# --- the time that the worker has left


def test_a_stream_that_fits_into_what_is_left_stays(router, engines):
    one = router(*(each.address for each in engines))
    user, wire, other = asked(one, engines, limited(4))
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(600_000)))
    for number in range(1, 4):
        wire.send(chunk(piece(number, made=number + 1)))
        user.until(b"t%d" % number)
    wire.send(chunk(END) + b"0\r\n\r\n")
    user.until(b"[DONE]")
    assert not other.has_arrived()
    assert one.metric("lastcall_router_migrations_total") == 0


def test_a_stream_that_turns_out_not_to_fit_is_moved_late(router, engines):
    one = router(*(each.address for each in engines))
    user, wire, other = asked(one, engines, limited(200))
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(600_000)))
    wire.send(chunk(piece(1, made=2)))
    user.until(b"t1")
    assert not other.has_arrived()  # it had a quick pace, and falls silent
    warming, head = other.request()
    assert b"-w\r\n" in head
    following, head = warmed(wire, other, warming)
    assert b"-m1\r\n" in head
    following.send(SSE_HEAD + chunk(piece(2, prompt=3)))
    user.until(b"t2")


@pytest.mark.parametrize("hinted", [4000], indirect=True)
def test_held_output_is_let_through_when_the_worker_has_no_more_time(hinted):
    one, user, wire, other, warming = hinted
    following, _ = warmed(wire, other, warming)  # and it never sends a word
    wire.send(chunk(piece(1, made=2)))
    user.until(b"t1")
    assert following.rest().endswith(b"}")  # its request, and then its end
    wire.send(chunk(MIGRATED) + b"0\r\n\r\n")
    again, head = other.request()
    assert b"-m2\r\n" in head
    assert b"t0 t1" in again.until(b'"continue_final_message":true')
    again.send(SSE_HEAD + chunk(piece(2, prompt=3)) + chunk(END) + b"0\r\n\r\n")
    assert b"t1" not in user.until(b"t2")
    user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total", reason="hand_off") == 0
    assert one.metric("lastcall_router_moves_total", kind="planned", outcome="continued") == 1


@pytest.mark.parametrize("hinted", [700], indirect=True)
def test_a_cache_that_is_not_warm_in_time_is_not_waited_for(hinted):
    one, user, wire, _, warming = hinted
    warming.rest()  # and no more
    wire.send(chunk(piece(1, made=2)))
    user.until(b"t1")
    wire.send(chunk(END) + b"0\r\n\r\n")
    user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 0


@pytest.mark.parametrize("deadline_ms", [0, 2**64 - 1])
def test_any_time_is_taken_as_it_is_given(router, engines, deadline_ms):
    one = router(*(each.address for each in engines))
    user, wire, other = asked(one, engines, limited(3))
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(deadline_ms)) + chunk(piece(1, made=2)))
    user.until(b"t1")
    wire.send(chunk(END) + b"0\r\n\r\n")
    user.until(b"[DONE]")
    assert not other.has_arrived()


def knocks(engine):
    """Connections are accepted in their order, so none was made before that is not known yet."""
    with socket.create_connection(engine.listener.getsockname()) as mine:
        mine.sendall(b"mine\r\n\r\n")
        return engine.request()[1] == b"mine\r\n\r\n"


def test_a_hint_of_a_worker_that_is_left_says_nothing_about_the_next_one(router, engines):
    one = router(*(each.address for each in engines), choosing=AT_ONCE)
    user, wire, other = asked(one, engines)
    first = next(each for each in engines if each is not other)
    wire.send(SSE_HEAD + chunk(piece(0) + hint(9000) + MIGRATED))
    following, head = other.request()
    assert b"-m1\r\n" in head
    following.send(SSE_HEAD + chunk(piece(1, prompt=2)))
    user.until(b"t1")
    following.send(chunk(piece(2, prompt=2, made=2)))
    user.until(b"t2")
    assert knocks(first)  # nothing was warmed there
    following.send(chunk(END) + b"0\r\n\r\n")
    user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 1


def test_a_worker_that_takes_over_and_drains_itself_is_left_in_time(hinted, engines):
    """Its hint comes before its first token, as in every stream that begins in a drain."""
    _, user, wire, other, warming = hinted
    first = next(each for each in engines if each is not other)
    following, _ = warmed(wire, other, warming)
    following.send(SSE_HEAD + chunk(hint(9000)) + chunk(piece(1, prompt=2)))
    user.until(b"t1")
    assert b"-w\r\n" in first.request()[1]


# --- before the first word


def test_a_stream_without_a_word_is_begun_anew_elsewhere(router, engines):
    one = router(*(each.address for each in engines))
    user, wire, other = asked(one, engines, limited(3))
    wire.send(SSE_HEAD + chunk(hint(600_000)))
    again, head = other.request()
    assert b"-m1\r\n" in head
    assert b'"messages":[{"role":"user","content":"x"}]' in again.until(b'"max_tokens":3')
    wire.rest()  # to its end
    again.send(SSE_HEAD + chunk(piece(0)) + chunk(END) + b"0\r\n\r\n")
    assert user.until(b"[DONE]").count(b"HTTP/1.1 200 OK") == 1
    assert one.metric("lastcall_router_migrations_total", reason="hand_off") == 1
    assert one.metric("lastcall_router_moves_total", kind="planned", outcome="continued") == 1


def test_a_stream_without_a_word_stays_while_nobody_else_is_there(router, engines):
    one = router(engines[0].address)
    user, wire, _ = asked(one, engines)
    wire.send(SSE_HEAD + chunk(hint(600_000)) + chunk(b": still here\n\n"))
    user.until(b"still here")
    wire.send(chunk(piece(0)) + chunk(END) + b"0\r\n\r\n")
    user.until(b"[DONE]")
    assert one.metric("lastcall_router_migrations_total") == 0


# --- who takes them over, and how many at a time


@pytest.fixture
def alone(router, engines, tmp_path):
    """(router, its one worker, the other one, what makes the other one known)"""
    leaving, coming = engines
    one = router(static(leaving.address), {"file": {"directory": str(tmp_path)}},
                 migration={"prefill_tokens": 1, "stall": None})  # fmt: skip

    def comes():
        text = {"instance_id": 7, "advertise": f"http://{coming.address}", "model": "m"}
        (tmp_path / "instance.tmp").write_text(json.dumps(text))
        (tmp_path / "instance.tmp").rename(tmp_path / "instance.json")
        wait_until(lambda: one.metric("lastcall_router_workers") == 2, "both are known")

    return one, leaving, coming, comes


def test_a_worker_that_comes_during_the_drain_takes_over(alone):
    one, leaving, coming, comes = alone
    user, wire, _ = asked(one, [leaving, coming])
    wire.send(SSE_HEAD + chunk(piece(0)) + chunk(hint(600_000)))
    user.until(b"t0")
    wait_until(lambda: one.metric("lastcall_router_waiting") == 1, "it waits")
    comes()
    assert b"-w\r\n" in coming.request()[1]
    wait_until(lambda: one.metric("lastcall_router_waiting") == 0, "it waits no more")


def test_hand_offs_are_paced_the_smallest_first(alone):
    one, leaving, coming, comes = alone
    streams = {}
    for name, prompt in (("first", 50), ("large", 500), ("small", 100)):
        user = one.client()
        user.send(post("/v1/chat/completions", ASKED, f"X-Request-Id: {name}"))
        wire, _ = leaving.request()
        wire.send(SSE_HEAD + chunk(piece(0, prompt=prompt)))
        user.until(b"t0")
        streams[name] = (user, wire)
    comes()
    for name in ("first", "large", "small"):
        streams[name][1].send(chunk(hint(600_000)))
    wait_until(lambda: one.metric("lastcall_router_waiting") == 2, "two of them wait")
    warming, head = coming.request()
    assert b"X-Request-Id: first-w\r\n" in head
    following, _ = warmed(streams["first"][1], coming, warming)
    assert one.metric("lastcall_router_waiting") == 2  # that it has the cache is not all
    assert not coming.has_arrived()
    following.send(SSE_HEAD + chunk(piece(1, prompt=51)))
    assert b"X-Request-Id: small-w\r\n" in coming.request()[1]


def test_questions_about_an_answer_go_to_the_worker_that_goes_on_with_it(router):
    fleet = [RawEngine() for _ in range(4)]
    ids = b'"token_ids":[10,11],'
    told = piece(0).replace(b'"index":0,', b'"index":0,' + ids)
    told = told.replace(b'"model":"m",', b'"model":"m","prompt_token_ids":[1],')
    try:
        one = router(*(each.address for each in fleet), migration={"by": "vllm_ids"},
                     choosing={"affinity": "header", "affinity_header": "X-Session",
                               "skip_first": "1ms", "skip_most": "1ms"})  # fmt: skip
        for session in range(6):
            user = one.client()
            user.send(post("/v1/chat/completions", ASKED, f"X-Session: {session}"))
            wait_until(lambda: any(each.has_arrived() for each in fleet), "a worker is asked")
            old = next(each for each in fleet if each.has_arrived())
            wire, _ = old.request()
            wire.send(SSE_HEAD + chunk(told) + chunk(MIGRATED))
            user.until(b"t0")
            wait_until(lambda: any(each.has_arrived() for each in fleet), "another one is asked")
            other = next(each for each in fleet if each.has_arrived())
            question, head = other.request()
            assert head.startswith(b"POST /detokenize ")
            question.until(b"}")
            question.send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            going_on, head = other.request()
            assert b"-m1\r\n" in head
            for each in (user, wire, question, going_on):
                each.close()
    finally:
        for each in fleet:
            each.close()


def test_a_hint_is_as_old_as_it_is_when_its_client_reads_again(router, engines):
    one = router(*(each.address for each in engines), migration={"stall": None})
    user, wire, other = asked(one, engines, user=slow_client(one))
    wire.send(SSE_HEAD + chunk(piece(0)))
    user.until(b"t0")
    user.until(b"\n\n\r\n")
    large = piece(1).replace(b"t1 ", b"t1 " + b"x" * 4_000_000)
    wire.send(chunk(large + hint(1000)))
    wait_until(lambda: unread(user) > 0, "the event is on its way, and its client does not read")
    over = time.monotonic() + 1.1
    wait_until(lambda: time.monotonic() > over, "the time of the worker is over")
    for last in (2, 3):
        wire.send(chunk(piece(last)))
        found = b""
        while b"t%d" % last not in found[-1000:]:
            part = user.socket.recv(1 << 20)
            assert part
            found = found[-1000:] + part
    assert one.metric("dynamo_frontend_inflight_requests") == 1
    assert not other.has_arrived()
    wire.send(chunk(END) + b"0\r\n\r\n")
    assert b"[DONE]" in user.until(b"[DONE]")
