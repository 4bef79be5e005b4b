"""Every fault of a worker that a stream can meet, at every byte, and clients that leave in each."""

import contextlib
import json
import os
import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ports import free_port
from raw_engine import SSE_HEAD, chunk
from router_world import static
from scripted_worker import TOKENS, Answer, ScriptedWorker, data, text, whole
from serve_peer import PATIENCE, wait_until

# A worker that broke is asked again at once: there are only two.
AT_ONCE = {"choosing": {"skip_first": "1ms", "skip_most": "1ms"}}


@pytest.fixture
def workers():
    """workers(first, then, number=2)"""
    made, seen = [], set()

    def make(first=whole, then=whole, number=2):
        made.extend(ScriptedWorker(first, then, seen) for _ in range(number))
        return made[-number:]

    yield make
    for each in made:
        each.close()


def behind(router, fleet, **config):
    return router(*(each.address for each in fleet), **{**AT_ONCE, **config})


def begins(count=2):
    """The start of a script: a head, and as many tokens."""

    def begin(leg):
        leg.send(SSE_HEAD)
        for number in range(leg.at, leg.at + count):
            leg.send(chunk(leg.token(number)))

    return begin


def hang_behind(script):
    def hangs(leg):
        script(leg)
        leg.wait()

    return hangs


def nobody_serves(fleet):
    wait_until(lambda: sum(each.open() for each in fleet) == 0, "every leg has ended")


# --- a worker that breaks


def test_an_answer_is_whole_wherever_its_worker_breaks(router, workers):
    """Torn at every byte: of the head, of chunks, of events, after the finish, after [DONE]."""
    places = {}

    def break_off(leg):
        leg.send(leg.whole()[: places[leg.asked]])

    fleet = workers(break_off)
    one = behind(router, fleet)
    measured = []

    def measure(leg):
        measured.append(len(leg.whole()))
        whole(leg)

    for each in fleet:
        each.first = measure
    assert Answer(one.port).ended().is_whole()
    for each in fleet:
        each.first = break_off
    places.update({f"cut at {place}": place for place in range(measured[0] + 1)})

    def ask(content):
        return Answer(one.port, content).ended().is_whole()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, places))
    nobody_serves(fleet)
    assert one.counts("dynamo_frontend_requests_total", len(places) + 1, status="success")
    assert one.metric("dynamo_frontend_inflight_requests") == 0


def reset(leg):
    leg.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


ENDS = {
    "reset": reset,
    "orderly": lambda leg: leg.send(chunk(b"")),
    "engine_dead": lambda leg: leg.send(chunk(
        b'event: error\ndata: {"error":{"type":"engine_dead","retryable":true}}\n\n')),
    "migrated": lambda leg: leg.send(chunk(
        b'event: error\ndata: {"error":{"type":"migrated","retryable":true}}\n\n')),
    "error_object": lambda leg: leg.send(
        chunk(data({"error": {"message": "EngineCore died", "code": 500}}))
        + chunk(data(b"[DONE]")) + chunk(b"")),
    "abort": lambda leg: leg.send(
        chunk(leg.event(finish="abort", count=2)) + chunk(data(b"[DONE]")) + chunk(b"")),
}  # fmt: skip


ENDS_MIGRATED = b'event: error\ndata: {"error":{"type":"migrated","retryable":true}}\n\n'


@pytest.mark.parametrize("told", [0, 1, 2, TOKENS])
@pytest.mark.parametrize("how", ENDS)
def test_an_answer_is_whole_however_its_worker_ends(router, workers, how, told):
    def first(leg):
        begins(told)(leg)
        ENDS[how](leg)

    fleet = workers(first)
    assert Answer(behind(router, fleet).port).ended().is_whole()
    nobody_serves(fleet)


def test_a_finished_answer_needs_no_other_worker(router, workers):
    def first(leg):
        leg.send(SSE_HEAD + b"".join(map(chunk, leg.events()[:-1])))

    fleet = workers(first)
    assert Answer(behind(router, fleet).port).ended().is_whole()
    assert sum(len(each.legs) for each in fleet) == 1


def declared(leg, tokens=None):
    """An answer of a declared length, and as many of its events as there are before a break."""
    events = leg.events()
    size = len(b"".join(events))
    leg.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
             % size + b"".join(events[:tokens]))  # fmt: skip


@pytest.mark.parametrize("tokens", [None, 0, 2])
def test_a_stream_of_a_declared_length_is_like_any_other(router, workers, tokens):
    """What the router removes from it, or adds, changes its length."""
    fleet = workers(lambda leg: declared(leg, tokens), declared)
    answer = Answer(behind(router, fleet).port).ended()
    assert answer.is_whole()
    assert b"content-length" not in answer.raw.lower()
    assert not any("usage" in each for each in answer.objects())


def test_an_empty_stream_of_a_declared_length_is_no_answer(router, workers):
    fleet = workers(lambda leg: leg.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n"
    ))  # fmt: skip
    assert Answer(behind(router, fleet).port).ended().is_whole()


def test_a_finished_answer_is_whole_if_its_worker_then_stands_still(router, workers):
    def first(leg):
        leg.send(SSE_HEAD + b"".join(map(chunk, leg.events()[:-1])))
        leg.wait()

    fleet = workers(first)
    one = behind(router, fleet, timeouts={"idle": "100ms"})
    assert Answer(one.port).ended().is_whole()
    assert sum(len(each.legs) for each in fleet) == 1
    assert one.counts("lastcall_router_moves_total", 1, kind="stall", outcome="finished")
    assert one.counts("dynamo_frontend_requests_total", 1, status="success")


def test_an_error_in_the_form_of_events_is_passed_on_as_it_is(router, workers):
    """Gateways answer a request for a stream so: the status is that of the error."""
    error = data({"error": {"message": "boom", "code": "500"}}) + data(b"[DONE]")

    def fails(leg):
        head = SSE_HEAD.replace(b"200 OK", b"500 Internal Server Error")
        leg.send(head + chunk(error) + chunk(b""))

    fleet = workers(fails, fails, number=3)
    one = behind(router, fleet)
    status, _, body = one.ask("POST", "/v1/chat/completions", {
        "model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]})  # fmt: skip
    assert (status, body) == (500, error)
    assert sum(len(each.legs) for each in fleet) == 2
    assert one.metric("lastcall_router_migrations_total") == 0


def test_an_event_that_is_too_large_to_be_read_is_not_the_end_of_its_answer(router, workers):
    large = "x" * (5 << 20)

    def first(leg):
        leg.send(SSE_HEAD + chunk(leg.event(large)) + b"".join(map(chunk, leg.events())))
        leg.send(chunk(b""))

    answer = Answer(behind(router, workers(first)).port).ended()
    assert answer.events().count("data: [DONE]") == 1
    assert "event: error" not in answer.raw.decode() and answer.raw.endswith(b"0\r\n\r\n")
    assert answer.text().rstrip() == large + text().rstrip()


# --- a worker that goes on wrongly


def refuses(leg):
    leg.send(b"HTTP/1.1 503 No\r\nX-Lastcall-Reason: busy\r\nRetry-After: 1\r\n"
             b"Content-Length: 2\r\n\r\nno")  # fmt: skip


def starts_over(leg):
    """As one that drops unknown fields does: the prompt without what was given."""
    leg.at, leg.joint = 0, ""
    whole(leg)


def of_another_model(leg):
    leg.model = "other"
    whole(leg)


def slowly(leg):
    leg.send(SSE_HEAD)
    for event in leg.events():
        threading.Event().wait(0.05)
        leg.send(chunk(event))
    leg.send(chunk(b""))


def with_hints(leg):
    """A head before its head, and words about itself."""
    leg.send(b"HTTP/1.1 103 Early Hints\r\nLink: </secret>\r\n\r\n")
    leg.send(SSE_HEAD.replace(b"\r\n\r\n", b"\r\nX-Worker: secret\r\n\r\n"))
    leg.send(b"".join(chunk(b": secret\n\n" + event) for event in leg.events()) + chunk(b""))


def dies(leg):
    begins(1)(leg)


@pytest.mark.parametrize("then", [of_another_model, slowly, with_hints])
def test_details_of_another_worker_never_show(router, workers, then):
    fleet = workers(begins(2), then)
    answer = Answer(behind(router, fleet).port).ended()
    assert answer.is_whole()
    assert b"secret" not in answer.raw.partition(b"t2")[0]
    assert b"X-Worker" not in answer.raw and b"Link" not in answer.raw


@pytest.mark.parametrize("then", [refuses, starts_over])
def test_a_worker_that_does_not_go_on_is_passed_over(router, workers, then):
    """Three workers, of which one does not: whole, whichever is asked first."""
    [wrong, *_] = fleet = [*workers(begins(2), then, 1), *workers(begins(2))]
    one = behind(router, fleet)

    def went_there():
        return any(leg.given for leg in wrong.legs)

    number = 0
    while number < 6 or not went_there():
        assert Answer(one.port, f"{number}").ended().is_whole()
        number += 1
        assert number < 200, "the wrong one is never asked"


def test_an_answer_that_starts_over_never_reaches_the_client(router, workers):
    answer = Answer(behind(router, workers(begins(2), starts_over)).port).ended()
    assert answer.error()["reason"] == "worker_cannot"
    assert answer.text_before_error().rstrip() == text(2).rstrip()


def test_both_workers_die_and_the_client_receives_the_error(router, workers):
    fleet = workers(begins(1), dies)
    answer = Answer(behind(router, fleet).port).ended()
    assert answer.error()["reason"] == "engine_died_twice"
    assert answer.error()["retryable"] is False
    assert answer.text_before_error().rstrip() == text(2).rstrip()
    nobody_serves(fleet)


def goes_on_from_elsewhere(leg):
    leg.send(SSE_HEAD + chunk(leg.event("no", at=100, count=1)))
    leg.wait()


@pytest.mark.parametrize("how, kind", [("orderly", "engine_dead"), ("migrated", "migrated")])
def test_workers_that_cannot_go_on_do_not_change_what_the_client_may_do(
    router, workers, how, kind
):
    def first(leg):
        begins()(leg)
        ENDS[how](leg)

    one = behind(router, workers(first, goes_on_from_elsewhere))
    answer = Answer(one.port).ended()
    error = answer.error()
    assert (error["type"], error["retryable"]) == (kind, True)
    assert error["reason"] == "worker_cannot"
    assert answer.text_before_error().rstrip() == text(2).rstrip()


def test_nothing_follows_an_event_whose_worker_died_within_it(router, workers):
    large = data(b"x" * (5 << 20))

    def dies(leg):
        leg.send(SSE_HEAD + chunk(large)[:-100])

    raw = Answer(behind(router, workers(dies)).port).ended().raw
    assert b"error" not in raw and not raw.endswith(b"0\r\n\r\n")
    assert raw.rstrip(b"\r\n")[-1:] == b"x"


def test_nothing_follows_it_behind_a_finish_reason_either(router, workers):
    large = data(b"x" * (5 << 20))
    finished = b'{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}'

    def dies(leg):
        leg.send(SSE_HEAD + chunk(data(finished)) + chunk(large)[:-100])

    raw = Answer(behind(router, workers(dies)).port).ended().raw
    assert b"[DONE]" not in raw and not raw.endswith(b"0\r\n\r\n")
    assert raw.rstrip(b"\r\n")[-1:] == b"x"


def answers(status, *lines, body=b"{}"):
    head = b"HTTP/1.1 %d X\r\n%bContent-Length: %d\r\n\r\n"
    return lambda leg: leg.send(head % (status, b"".join(each + b"\r\n" for each in lines),
                                        len(body)) + body)  # fmt: skip


def ends_with(event):
    def script(leg):
        begins()(leg)
        leg.send(chunk(event))

    return script


DEAD_HEAD = (b"X-Lastcall-Reason: engine_dead", b"x-should-retry: true")
BUSY_HEAD = (b"X-Lastcall-Reason: overloaded", b"x-should-retry: true")


@pytest.mark.parametrize(
    "script, error_type",
    [
        (whole, ""),
        (begins(), "internal"),
        (lambda leg: None, "internal"),
        (ends_with(data({"error": {"message": "no", "code": 400}})), "validation"),
        (ends_with(data({"error": {"message": "no", "code": 404}})), "not_found"),
        (ends_with(data({"error": {"message": "died", "code": 500}})), "internal"),
        (ends_with(ENDS_MIGRATED), "internal"),
        (answers(503, *DEAD_HEAD), "internal"),
        (answers(529, *BUSY_HEAD), "overload"),
        (answers(503), "overload"),
        (answers(429), "overload"),
        (answers(400), "validation"),
        (answers(404), "not_found"),
        (answers(500), "internal"),
        (answers(501), "not_implemented"),
    ],
    ids=["whole", "broken", "no_head", "error_400", "error_404", "error_500", "migrated",
         "dead_head", "busy_head", "503", "429", "400", "404", "500", "501"],
)
def test_each_end_of_a_request_is_counted_as_in_dynamo(router, workers, script, error_type):
    one = behind(router, workers(script, script, number=1), migration={"wait": "1ms"})
    Answer(one.port).ended()
    assert one.counts("dynamo_frontend_requests_total", 1, error_type=error_type)


@pytest.mark.parametrize("kind", ["overloaded", "of_tomorrow"])
def test_a_request_that_its_worker_lets_repeat_may_be_repeated(router, workers, kind):
    """No worker continues it, because it asks for two answers."""
    error = {"type": kind, "message": "again", "code": 503, "retryable": True}
    one = behind(router, workers(ends_with(data({"error": error}))))
    found = Answer(one.port, n=2).ended().error()
    assert (found["type"], found["code"], found["retryable"]) == ("engine_error", 503, True)
    assert found["reason"] == "several_choices"


def refuses_our_field(leg):
    if "stream_options" in leg.body:
        leg.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")
    else:
        whole(leg)


def test_a_worker_that_refuses_our_field_is_asked_without(router, workers):
    fleet = workers(refuses_our_field, number=1)
    one = behind(router, fleet)
    assert Answer(one.port).ended().is_whole()
    assert one.metric("lastcall_router_failovers_total") == 0


def does_not_continue(leg):
    leg.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")


def test_an_answer_that_one_worker_refuses_waits_for_another_that_is_full(router, workers):
    dies, is_free = threading.Event(), threading.Event()

    def first(leg):
        begins(2)(leg)
        dies.wait(PATIENCE)

    def waits(leg):
        is_free.wait(PATIENCE)
        whole(leg)

    dying, refusing, full = workers(first, number=3)
    refusing.then, full.then = does_not_continue, waits
    one = behind(router, [dying], migration={"prefill_tokens": 1})
    answers = [Answer(one.port, content).has(1) for content in "ab"]
    one.config["workers"] = [static(dying.address, refusing.address, full.address)]
    one.write_config()
    one.process.send_signal(signal.SIGHUP)
    assert one.counts("lastcall_router_workers", 3)
    dies.set()
    wait_until(lambda: refusing.legs, "one of them was refused")
    assert one.counts("lastcall_router_waiting", 1)
    is_free.set()
    assert all(answer.ended().is_whole() for answer in answers)
    assert len(full.legs) == 2


# --- clients that leave


def hang(leg):
    leg.wait()


def hang_behind_head(leg):
    leg.send(SSE_HEAD)
    leg.wait()


def hang_unproven(leg):
    leg.send(SSE_HEAD + chunk(b": ping\n\n"))
    leg.wait()


def hang_in_answer(leg):
    begins(1)(leg)
    leg.wait()


@pytest.mark.parametrize(
    ("first", "then", "seen"),
    [
        (hang, None, None), (hang_behind_head, None, None), (hang_in_answer, None, 0),
        (begins(2), hang, 1), (begins(2), hang_behind_head, 1), (begins(2), hang_unproven, 1),
        (begins(2), hang_in_answer, 2),
    ],
    ids=["before_head", "behind_head", "in_answer", "before_second_head", "behind_second_head",
         "verifying", "behind_seam"],
)  # fmt: skip
def test_a_client_that_leaves_ends_every_leg(router, workers, first, then, seen):
    fleet = workers(first, then or whole)
    one = behind(router, fleet)
    answer = Answer(one.port)
    legs = 1 if then is None else 2
    wait_until(lambda: sum(len(each.legs) for each in fleet) == legs, "all legs are there")
    if seen is not None:
        answer.has(seen)
    answer.leave()
    nobody_serves(fleet)
    assert one.counts("dynamo_frontend_disconnected_clients_total", 1)
    assert one.counts("dynamo_frontend_inflight_requests", 0)


def test_a_client_that_leaves_while_all_others_refuse_is_forgotten(router, workers):
    fleet = workers(begins(2), refuses)
    one = behind(router, fleet)
    answer = Answer(one.port).has(1)
    wait_until(lambda: one.metric("lastcall_router_waiting") == 1, "it waits")
    answer.leave()
    nobody_serves(fleet)
    assert one.counts("dynamo_frontend_inflight_requests", 0)
    assert one.counts("lastcall_router_waiting", 0)


def test_a_client_that_leaves_while_no_worker_is_there_is_forgotten(router, workers):
    fleet = workers(begins(2), number=1)
    one = behind(router, fleet, choosing={"skip_first": "1h", "skip_most": "1h"})
    answer = Answer(one.port).has(1)
    fleet[0].close()
    answer.leave()
    nobody_serves(fleet)
    assert one.counts("dynamo_frontend_inflight_requests", 0)


def hints(leg):
    """A worker that drains, to a router: what it has will be cut in a minute."""
    begins(1)(leg)
    name = leg.head.lower().split(b"x-request-id: ")[1].split(b"\r")[0].decode()
    hint = json.dumps({"request_id": name, "deadline_ms": 60_000})
    leg.send(chunk(f": lastcall-handoff {hint}\n\n".encode()))
    leg.wait()


@pytest.mark.parametrize("second", [hang, hang_behind_head], ids=["warming", "behind_head"])
def test_a_client_that_leaves_in_an_early_hand_off_ends_both_legs(router, workers, second):
    """The request that warms the other worker's cache ends, too."""
    fleet = workers(hints, second)
    one = behind(router, fleet)
    answer = Answer(one.port).has(0)
    wait_until(lambda: sum(each.open() for each in fleet) == 2, "the other is warmed")
    answer.leave()
    nobody_serves(fleet)
    assert sum(leg.body["max_tokens"] == 1 for each in fleet for leg in each.legs) == 1
    assert one.counts("dynamo_frontend_inflight_requests", 0)


# --- a registry that empties, flaps and lies


def name_in(directory, name, address):
    path = os.path.join(directory, name)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump({"instance_id": 7, "advertise": f"http://{address}", "model": "m"}, file)
    os.rename(path + ".tmp", path)


def test_an_answer_waits_for_a_registry_that_is_empty_for_a_moment(router, workers, tmp_path):
    breaks = threading.Event()

    def first(leg):
        begins(2)(leg)
        breaks.wait(60)

    [old, new] = workers(first)
    name_in(tmp_path, "1.json", old.address)
    one = router({"file": {"directory": str(tmp_path)}}, **AT_ONCE)
    answer = Answer(one.port).has(1)
    (tmp_path / "1.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 0, "nobody is left")
    breaks.set()
    name_in(tmp_path, "2.json", new.address)
    assert answer.ended().is_whole()


def test_answers_that_wait_ask_dead_workers_in_turns(router, workers, tmp_path):
    """Each by itself would do nothing but ask, and so would the router."""
    number = 40
    fleet = workers(hang_behind(begins(2)))
    for at, each in enumerate(fleet):
        name_in(tmp_path, f"{at}.json", each.address)
    one = router({"file": {"directory": str(tmp_path)}}, **AT_ONCE)
    answers = [Answer(one.port, f"{each}").has(1) for each in range(number)]
    for each in fleet:
        each.refuse_new()  # otherwise answers of the first would begin at the second, and end there
    for each in fleet:
        each.vanish()
    wait_until(lambda: one.metric("lastcall_router_waiting") > number - 3, "all others wait")
    began = time.monotonic()
    asked = one.metric("lastcall_router_failovers_total")
    wait_until(lambda: time.monotonic() > began + 1.5, "they have waited")
    asked = one.metric("lastcall_router_failovers_total") - asked
    # Ten turns in a second, each of which may ask both.
    assert 0 < asked <= 2 * (10 * (time.monotonic() - began) + 1)
    [new] = workers(number=1)
    name_in(tmp_path, "9.json", new.address)
    assert all(each.ended().is_whole() for each in answers)
    assert one.counts("lastcall_router_moves_total", number, outcome="continued")


def test_a_registry_that_flaps_loses_nothing(router, workers, tmp_path):
    fleet = workers(slowly)
    for number, each in enumerate(fleet):
        name_in(tmp_path, f"{number}.json", each.address)
    one = router({"file": {"directory": str(tmp_path)}}, **AT_ONCE)
    stop = threading.Event()

    def flap():
        while not stop.wait(0.002):
            with contextlib.suppress(FileNotFoundError):
                (tmp_path / "0.json").unlink()
            name_in(tmp_path, "0.json", fleet[0].address)

    flapping = threading.Thread(target=flap)
    flapping.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = pool.map(lambda n: Answer(one.port, f"{n}").ended().is_whole(), range(24))
            assert all(asked)
    finally:
        stop.set()
        flapping.join()


def test_a_registry_that_lies_costs_nobody_an_answer(router, workers, tmp_path):
    """One of four names is a worker: nothing listens, it speaks no HTTP, it is another thing."""

    def no_http(leg):
        leg.send(b"SSH-2.0-OpenSSH_9.2\r\n")

    def something_else(leg):
        leg.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

    [good] = workers(number=1)
    [ssh] = workers(no_http, number=1)
    [gateway] = workers(something_else, number=1)
    addresses = [good.address, ssh.address, gateway.address, f"127.0.0.1:{free_port()}"]
    for number, address in enumerate(addresses):
        name_in(tmp_path, f"{number}.json", address)
    one = router({"file": {"directory": str(tmp_path)}}, choosing={"attempts": 4})
    for number in range(12):
        assert Answer(one.port, f"{number}").ended().is_whole()
