"""Workers that write their answers in each form that HTTP and server-sent events allow, and die."""

import collections
import contextlib
import gzip
import itertools
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from raw_engine import Wire, chunk
from scripted_worker import TOKENS, ScriptedWorker, data, text
from serve_peer import PATIENCE, wait_until

MARK = b"\xef\xbb\xbf"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


# --- the forms


def chunked(leg, events=None, extension=b"", end=b"0\r\n\r\n"):
    written = b"".join(
        b"%x%b\r\n%b\r\n" % (len(each), extension, each) for each in (events or leg.events())
    )
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + written + end


def until_close(leg, version=b"1.1", lines=b"Connection: close\r\n"):
    return HEAD.replace(b"1.1", version, 1) + lines + b"\r\n" + b"".join(leg.events())


def with_ends(end):
    return lambda leg: chunked(leg, [each.replace(b"\n", end) for each in leg.events()])


def with_lines(*lines):
    extra = b"".join(each + b"\n" for each in lines)
    return lambda leg: chunked(leg, [extra + each for each in leg.events()])


def in_two_lines(leg):
    """A JSON object may have a line end after a comma."""
    return chunked(leg, [each.replace(b', "choices"', b',\ndata: "choices"')
                         for each in leg.events()])  # fmt: skip


def with_first(*events):
    return lambda leg: chunked(leg, [*events, *leg.events()])


def usage_only(leg):
    return data({"id": "w", "object": "chat.completion.chunk", "created": 1, "model": "m",
                 "choices": [], "usage": {"prompt_tokens": 1 + leg.at, "total_tokens": 1 + TOKENS,
                                          "completion_tokens": TOKENS - leg.at}})  # fmt: skip


def with_usage_last(leg):
    *before, done = leg.events()
    return chunked(leg, [*before, usage_only(leg), done])


def with_first_usage(leg):
    empty = usage_only(leg).replace(b'"completion_tokens": %d' % (TOKENS - leg.at),
                                    b'"completion_tokens": 0')  # fmt: skip
    return chunked(leg, [empty, *leg.events()])


def one_byte_each(leg):
    return chunked(leg, [bytes([each]) for each in b"".join(leg.events())])


def without_last_line(leg):
    return until_close(leg)[:-2]


def without_done(leg):
    return chunked(leg, leg.events()[:-1])


def with_logprobs(leg):
    odd = b'"logprobs": {"content": [{"token": "t", "logprob": -1.0}]}, "finish_reason": null'
    return chunked(leg, [each.replace(b'"finish_reason": null', odd) for each in leg.events()])


FORMS = {
    "plain": chunked,
    "http_1_0": lambda leg: until_close(leg, b"1.0", b""),
    "http_1_0_kept": lambda leg: until_close(leg, b"1.0", b"Connection: keep-alive\r\n"),
    "connection_close": until_close,
    "no_length_at_all": lambda leg: until_close(leg, lines=b""),
    "interim_heads": lambda leg: b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
                                 b"Link: <x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + chunked(leg),
    "no_phrase": lambda leg: chunked(leg).replace(b"200 OK", b"200 ", 1),
    "trailers": lambda leg: chunked(leg, end=b"0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n"),
    "chunk_extensions": lambda leg: chunked(leg, extension=b';a="b\\"c";d'),
    "one_byte_each": one_byte_each,
    "crlf": with_ends(b"\r\n"),
    "cr": with_ends(b"\r"),
    "no_space": lambda leg: chunked(leg, [each.replace(b"data: ", b"data:", 1)
                                          for each in leg.events()]),
    "ids_and_retry": with_lines(b"id: 7", b"retry: 10"),
    "named_events": with_lines(b"event: message"),
    "unknown_fields": with_lines(b"x: 7", b"alone"),
    "comments": with_lines(b": one", b":two"),
    "blank_lines": with_lines(b"", b"", b""),
    "byte_order_mark": lambda leg: chunked(leg, [MARK + leg.events()[0], *leg.events()[1:]]),
    "two_lines": in_two_lines,
    "no_choices_first": with_first_usage,
    "usage_last": with_usage_last,
    "no_last_line": without_last_line,
    "no_done": without_done,
    "logprobs": with_logprobs,
    "empty_data": with_first(b"data\n\n", b"data:\n\n"),
    "other_case": lambda leg: chunked(leg).replace(b"text/event-stream",
                                                   b"Text/Event-Stream; charset=UTF-8", 1),
}  # fmt: skip


# --- what a client reads


def payload_of(raw):
    """(status, headers, payload, whether it ended in order)"""
    while True:
        head, mark, body = raw.partition(b"\r\n\r\n")
        assert mark, raw
        lines = head.decode().split("\r\n")
        status = int(lines[0].split(" ")[1])
        if status >= 200:
            break
        raw = body
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    if "content-length" in headers:
        size = int(headers["content-length"])
        return status, headers, body[:size], len(body) == size
    assert headers.get("transfer-encoding") == "chunked", head
    joined = b""
    while body:
        size, mark, rest = body.partition(b"\r\n")
        if not mark:
            break
        length = int(size, 16)
        if length == 0:
            return status, headers, joined, rest == b"\r\n"
        joined, body = joined + rest[:length], rest[length + 2 :]
    return status, headers, joined, False


def events_of(payload):
    """(name, data) of each whole event, as the HTML standard reads them; and what is left."""
    stream = payload.decode().removeprefix("\ufeff")
    stream = stream.replace("\r\n", "\n").replace("\r", "\n")
    found, name, lines = [], "message", []
    *whole, rest = stream.split("\n")
    for line in whole:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if lines:
                found.append((name, "\n".join(lines)))
            name, lines = "message", []
        elif field == "event":
            name = value
        elif field == "data":
            lines.append(value)
    return found, rest if rest else "\n".join(lines)


def kind_of(raw, allowed_rest=False):
    """`whole`, or the type of the one error; anything else fails."""
    assert raw, "nothing was answered"
    status, headers, payload, is_orderly = payload_of(raw)
    if status != 200:
        assert is_orderly, raw
        error = json.loads(payload)["error"]
        assert headers["x-should-retry"] in ("true", "false")
        return f"{status} {error['type']}"
    events, rest = events_of(payload)
    assert not rest or allowed_rest, (rest, raw)
    objects = [(name, value) for name, value in events if value not in ("", "[DONE]")]
    errors = [json.loads(value)["error"] for name, value in objects if name == "error"]
    answer = [json.loads(value) for name, value in objects if name != "error"]
    choices = list(itertools.chain(*(each["choices"] for each in answer)))
    got = "".join(each["delta"].get("content") or "" for each in choices)
    finishes = [each["finish_reason"] for each in choices if each["finish_reason"]]
    dones = [value for _, value in events].count("[DONE]")
    assert len({each["id"] for each in answer}) <= 1, raw
    if errors:
        assert (len(errors), dones, events[-1][0]) == (1, 0, "error"), raw
        assert not is_orderly, raw
        assert text().startswith(got) or text().startswith(got.rstrip()), raw
        assert isinstance(errors[0]["retryable"], bool)
        return errors[0]["type"]
    assert (got.rstrip(), finishes, is_orderly) == (text().rstrip(), ["length"], True), raw
    assert dones <= 1, raw
    return "whole"


def ask(port, content, head=b"", **fields):
    body = json.dumps({"model": "m", "stream": True, "max_tokens": TOKENS, **fields,
                       "messages": [{"role": "user", "content": content}]}).encode()  # fmt: skip
    wire = Wire(socket.create_connection(("127.0.0.1", port)))
    with contextlib.closing(wire):
        wire.socket.settimeout(2 * PATIENCE)
        wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%b"
                  b"Content-Length: %d\r\n\r\n%b" % (head, len(body), body))  # fmt: skip
        return wire.rest()


@pytest.fixture
def fleet(router):
    """fleet(first, then) -> (router, workers)"""
    made = []

    def make(first, then, number=2, **config):
        seen = set()
        workers = [ScriptedWorker(first, then, seen) for _ in range(number)]
        made.extend(workers)
        skips = {"choosing": {"skip_first": "1ms", "skip_most": "1ms"}}
        return router(*(each.address for each in workers), **{**skips, **config}), workers

    yield make
    for each in made:
        each.close()


def kinds(one, places):
    with ThreadPoolExecutor(8) as pool:
        return collections.Counter(
            pool.map(lambda place: kind_of(ask(one.port, str(place))), places)
        )


class Measured:
    def __init__(self):
        self.content, self.events, self.at, self.asked = "", None, 0, ""


CONTINUES = set(FORMS) - {"two_lines", "empty_data"}


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_of_any_form_is_whole_or_ends_with_one_error_wherever_its_worker_dies(
    fleet, form
):
    write = FORMS[form]
    sizes = []

    def whole(leg):
        sizes.append(len(write(leg)))
        leg.send(write(leg))

    def dies(leg):
        leg.send(write(leg)[: int(leg.asked)])

    one, workers = fleet(whole, whole)
    assert kind_of(ask(one.port, "whole")) == "whole"
    for each in workers:
        each.first = dies
    step = 5 if sizes[0] < 2000 else 97
    found = kinds(one, range(0, sizes[0] + 1, step))
    expected = {"whole"} if form in CONTINUES else {"whole", "engine_dead"}
    assert set(found) == expected, found
    assert one.process.poll() is None
    assert one.metric("dynamo_frontend_inflight_requests") == 0


# --- answers that do not continue elsewhere


def piece(index, delta, finish=None, **more):
    choice = {"index": index, "delta": delta, "finish_reason": finish, **more}
    return data({"id": "w", "object": "chat.completion.chunk", "created": 1, "model": "m",
                 "choices": [choice]})  # fmt: skip


def call(index, arguments):
    return {"tool_calls": [{"index": index, "id": f"c{index}", "type": "function",
                            "function": {"name": "f", "arguments": arguments}}]}  # fmt: skip


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
DONE = data(b"[DONE]")
UNMOVABLE = {
    "several_choices": ({"n": 2}, [
        piece(0, {"role": "assistant", "content": "a"}), piece(1, {"content": "b"}),
        piece(0, {}, "stop"), piece(1, {"content": "c"}), piece(1, {}, "length"), DONE]),
    "choices_in_one_event": ({"n": 2}, [
        data({"id": "w", "created": 1, "model": "m", "choices": [
            {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"},
            {"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}]}), DONE]),
    "tool_calls": ({"tools": TOOLS}, [
        piece(0, {"role": "assistant", "content": "let me"}), piece(0, call(0, "{")),
        piece(0, call(0, "}")), piece(0, call(1, "{}")), piece(0, {}, "tool_calls"), DONE]),
    "not_json": ({}, [data(b"hello"), data(b"[1,2]"), data(b'"x"'), DONE]),
}  # fmt: skip


@pytest.mark.parametrize("what", UNMOVABLE)
def test_an_answer_that_cannot_move_is_passed_on_as_it_is_or_ends_with_one_error(fleet, what):
    fields, events = UNMOVABLE[what]
    wire = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(map(chunk, events)) + chunk(b"")

    def send(leg):
        leg.send(wire[: int(leg.asked)])

    one, _ = fleet(send, send, number=1)
    ends = collections.Counter()
    for place in range(0, len(wire) + 1, 19):
        raw = ask(one.port, str(place), **fields)
        status, _, payload, is_orderly = payload_of(raw)
        whole = b"".join(events)
        if status != 200:
            ends[json.loads(payload)["error"]["type"]] += 1
        elif is_orderly:
            assert payload == whole
            ends["whole"] += 1
        else:
            before, mark, last = payload.partition(b"event: error\n")
            assert mark, raw
            assert whole.startswith(before)
            found, rest = events_of(mark + last)
            assert len(found) == 1 and not rest, raw
            ends[json.loads(found[0][1])["error"]["type"]] += 1
    assert payload_of(ask(one.port, str(len(wire)), **fields))[2:] == (b"".join(events), True)
    assert set(ends) <= {"whole", "engine_dead", "engine_error", "poison"}, ends


# --- clients



def written(content):
    return json.dumps({"model": "m", "stream": True, "max_tokens": TOKENS,
                       "messages": [{"role": "user", "content": content}]}).encode()  # fmt: skip


def request(content, *lines, body=None):
    text_of = written(content)
    length = b"" if body else b"Content-Length: %d\r\n" % len(text_of)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n" + length
    return head + b"".join(each + b"\r\n" for each in lines) + b"\r\n" + (body or text_of)


CLOSE = b"Connection: close"


def expects(wire, content):
    head, mark, body = request(content, CLOSE, b"Expect: 100-continue").partition(b"\r\n\r\n")
    wire.send(head + mark)
    assert wire.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
    wire.send(body)
    return wire.rest()


def expects_and_sends(wire, content):
    wire.send(request(content, CLOSE, b"Expect: 100-continue"))
    return wire.rest()


def in_chunks(wire, content):
    text_of = written(content)
    parts = [text_of[at : at + 7] for at in range(0, len(text_of), 7)]
    body = b"".join(b"%x;a=b\r\n%b\r\n" % (len(each), each) for each in parts)
    wire.send(request(content, CLOSE, b"Transfer-Encoding: chunked", b"Trailer: X-Sum",
                      body=body + b"0\r\nX-Sum: 1\r\nContent-Length: 3\r\n\r\n"))  # fmt: skip
    return wire.rest()


def byte_by_byte(wire, content):
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for each in request(content, CLOSE):
        wire.send(bytes([each]))
    return wire.rest()


def with_large_head(wire, content):
    wire.send(request(content, CLOSE, *(b"X-%d: %b" % (each, b"x" * 500) for each in range(20))))
    return wire.rest()


def reads_slowly(wire, content):
    wire.send(request(content, CLOSE))
    got = b""
    while part := wire.socket.recv(64):
        got += part
    return got


CLIENTS = {
    each.__name__: each
    for each in (
        expects,
        expects_and_sends,
        in_chunks,
        byte_by_byte,
        with_large_head,
        reads_slowly,
    )
}


@pytest.mark.parametrize("form", ["plain", "http_1_0", "cr", "interim_heads"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_any_kind_has_a_whole_answer_although_its_worker_dies(fleet, client, form):
    write = FORMS[form]

    def dies(leg):
        whole = write(leg)
        leg.send(whole[: int(leg.asked) * len(whole) // 8])

    one, _ = fleet(dies, lambda leg: leg.send(write(leg)))

    def go(place):
        wire = Wire(socket.create_connection(("127.0.0.1", one.port)))
        with contextlib.closing(wire):
            wire.socket.settimeout(2 * PATIENCE)
            return kind_of(CLIENTS[client](wire, str(place)))

    with ThreadPoolExecutor(8) as pool:
        assert collections.Counter(pool.map(go, range(9))) == {"whole": 9}


def test_requests_that_come_at_once_are_answered_in_turn_although_workers_die(fleet):
    def dies(leg):
        whole = chunked(leg)
        leg.send(whole[: int(leg.asked) * len(whole) // 8])

    one, _ = fleet(dies, lambda leg: leg.send(chunked(leg)))
    wire = Wire(socket.create_connection(("127.0.0.1", one.port)))
    with contextlib.closing(wire):
        wire.socket.settimeout(2 * PATIENCE)
        wire.send(b"".join(request(str(place)) for place in range(8)) + request("8", CLOSE))
        for _ in range(8):
            answer = wire.until(b"\r\n\r\n") + wire.until(b"data: [DONE]")
            assert kind_of(answer + wire.until(b"0\r\n\r\n")) == "whole"
        assert kind_of(wire.rest()) == "whole"


def test_a_client_that_ends_its_output_has_left_also_while_its_answer_moves(fleet):
    def dies(leg):
        leg.send(chunked(leg)[:300])

    def hangs(leg):
        leg.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        leg.wait()

    one, workers = fleet(dies, hangs)
    wire = Wire(socket.create_connection(("127.0.0.1", one.port)))
    with contextlib.closing(wire):
        wire.send(request("x"))
        wait_until(lambda: sum(len(each.legs) for each in workers) >= 2, "it moves")
        wire.socket.shutdown(socket.SHUT_WR)
        assert not payload_of(wire.rest())[3]
    wait_until(lambda: not any(each.open() for each in workers), "its worker is left")
    assert one.counts("dynamo_frontend_requests_total", 1, error_type="cancelled")


# --- workers that do not keep to HTTP


def begun(leg, behind):
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(leg.events()[0]) + behind


FILL = b"x" * (1 << 20)
HOSTILE = {
    "nothing": lambda leg: b"",
    "no_http": lambda leg: b"hello\r\n\r\n",
    "http_0_9": lambda leg: b"".join(leg.events()),
    "http_2": lambda leg: b"HTTP/2 200\r\n\r\n",
    "preface": lambda leg: b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x64",
    "no_status": lambda leg: b"HTTP/1.1 \r\n\r\n",
    "status_of_four": lambda leg: b"HTTP/1.1 2000 OK\r\n\r\n",
    "two_lengths": lambda leg: HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "negative_length": lambda leg: HEAD + b"Content-Length: -1\r\n\r\n",
    "huge_length": lambda leg: HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
    "length_and_chunks": lambda leg: chunked(leg).replace(b"Transfer", b"Content-Length: 3\r\n"
                                                          b"Transfer", 1),
    "other_coding": lambda leg: HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "coding_twice": lambda leg: HEAD + b"Transfer-Encoding: chunked\r\n"
                                       b"Transfer-Encoding: chunked\r\n\r\n",
    "folded": lambda leg: HEAD + b"X-A: b\r\n c\r\n\r\n",
    "space_before_colon": lambda leg: HEAD + b"X-A : b\r\n\r\n",
    "nul_in_head": lambda leg: HEAD + b"X-A: \0\r\n\r\n",
    "large_head": lambda leg: HEAD + b"X-A: " + FILL + b"\r\n\r\n",
    "many_lines": lambda leg: HEAD + b"X-A: b\r\n" * 100_000 + b"\r\n",
    "many_interim_heads": lambda leg: b"HTTP/1.1 103 Early\r\n\r\n" * 20_000 + chunked(leg),
    "switching": lambda leg: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                             b"Connection: upgrade\r\n\r\nhello",
    "bad_chunk": lambda leg: begun(leg, b"xyz\r\n"),
    "negative_chunk": lambda leg: begun(leg, b"-1\r\n"),
    "huge_chunk": lambda leg: begun(leg, b"fffffffffffffffff\r\n"),
    "chunk_without_end": lambda leg: begun(leg, b"3\r\n: x: y"),
    "large_extension": lambda leg: begun(leg, b"3;" + FILL),
    "large_trailer": lambda leg: begun(leg, b"0\r\nX-A: " + FILL + b"\r\n\r\n"),
    "more_behind_its_end": lambda leg: chunked(leg) + chunked(leg),
    "event_without_end": lambda leg: begun(leg, chunk(b"data: " + FILL)),
    "comment_without_end": lambda leg: begun(leg, chunk(b":" + FILL) * 5),
    "nul_event": lambda leg: begun(leg, chunk(b"\0" * 100)),
    "not_utf_8": lambda leg: begun(leg, chunk(b"\xff\xfe: \xc0\x80")),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_an_answer_survives_a_worker_that_does_not_keep_to_http(fleet, what):
    one, _ = fleet(lambda leg: leg.send(HOSTILE[what](leg)), lambda leg: leg.send(chunked(leg)))
    assert kind_of(ask(one.port, "x")) == "whole", one.log()
    assert one.process.poll() is None
    assert kind_of(ask(one.port, "x")) == "whole"


def test_a_compressed_stream_is_passed_on_as_it_is(fleet):
    packed = gzip.compress(b"".join([data(b"a"), data(b"[DONE]")]))
    head = HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire = head + b"".join(chunk(bytes([each])) for each in packed)

    def send(leg):
        leg.send(wire + (chunk(b"") if leg.asked == "whole" else b""))

    one, _ = fleet(send, send)
    assert payload_of(ask(one.port, "whole"))[2:] == (packed, True)
    status, _, payload, is_orderly = payload_of(ask(one.port, "torn"))
    assert (status, payload, is_orderly) == (200, packed, False)  # no error within its bytes
