"""What clients of a router see before any worker matters, and what a worker gets."""

import json
import socket

import pytest
from hostile_heads import each_is_answered
from kinds_of_engines import KindOfEngine
from ports import free_port
from raw_engine import SSE_HEAD, chunk, get, ok, post
from router_world import command, static
from serve_peer import wait_until


@pytest.mark.parametrize(
    "path", ["/metrics", "/health", "/sleep", "/flush_cache", "/v1/files", "/lastcall/calls", "/"]
)
def test_paths_that_operate_an_engine_are_not_there(router, engines, path):
    one = router(engines[0].address)
    for method in ("GET", "POST"):
        status, _, body = one.ask(method, path, {} if method == "POST" else None)
        assert status == 404
        assert json.loads(body)["error"]["code"] == "not_found"
    assert not engines[0].has_arrived()


def test_models_are_those_of_the_workers(router, engines):
    one = router(static(engines[0].address, model="a"), static(engines[1].address, model="b/c"))
    status, _, body = one.ask("GET", "/v1/models")
    assert status == 200
    assert [each["id"] for each in json.loads(body)["data"]] == ["a", "b/c"]
    for path in ("/v1/models/b/c", "/v1/models/b%2Fc"):  # as vLLM's users and openai's client ask
        status, _, body = one.ask("GET", path)
        assert (status, json.loads(body)["id"], json.loads(body)["object"]) == (200, "b/c", "model")
    status, _, body = one.ask("GET", "/v1/models/c")
    assert (status, json.loads(body)["error"]["code"]) == (404, "model_not_found")
    status, _, body = one.ask("POST", "/v1/chat/completions", {"model": "c"})
    assert status == 404
    assert json.loads(body)["error"] == {
        "message": "The model `c` does not exist.", "type": "invalid_request_error",
        "param": "model", "code": "model_not_found",
    }  # fmt: skip
    status, _, body = one.ask("POST", "/v1/chat/completions", {"messages": []})
    assert (status, json.loads(body)["error"]["code"]) == (400, "missing_model")


@pytest.mark.parametrize("model", ["a", "b"])
def test_a_request_goes_to_a_worker_of_its_model(router, engines, model):
    one = router(static(engines[0].address, model="a"), static(engines[1].address, model="b"))
    user = one.client()
    user.send(post(body=b'{"model": "%s"}' % model.encode()))
    wire, _ = engines["ab".index(model)].request()
    wire.send(ok(b"hello"))
    assert user.until(b"hello").startswith(b"HTTP/1.1 200 OK\r\n")
    assert not engines["ba".index(model)].has_arrived()


def test_a_worker_receives_the_id_and_the_parent_and_the_length(router, engines):
    one = router(engines[0].address)
    user = one.client()
    user.send(
        b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b'{"model"') + chunk(b':"m"}') + chunk(b"")
    )
    wire, head = engines[0].request()
    assert b"\r\nX-Request-Id: mine\r\n" in head
    assert b"\r\nX-Lastcall-Parent: router/mine\r\n" in head
    assert b"\r\nContent-Length: 13\r\n" in head
    assert b"chunked" not in head
    assert wire.exactly(13) == b'{"model":"m"}'
    wire.send(ok())
    assert b"\r\nX-Request-Id: mine\r\n" in user.until(b"hello")


def test_workers_are_not_asked_to_compress_and_what_is_compressed_anyway_goes_through(
    router, engines
):
    one = router(engines[0].address)
    user = one.client()
    user.send(post("/v1/chat/completions", b'{"model":"m","stream":true}', "Accept-Encoding: br"))
    wire, head = engines[0].request()
    assert b"ncoding" not in head
    coded = bytes(range(256))  # which are not events
    wire.send(SSE_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n"))
    wire.send(chunk(coded) + chunk(coded) + chunk(b""))
    got = user.until(b"0\r\n\r\n")
    assert got.count(coded) == 2 and b"Content-Encoding: br\r\n" in got
    assert one.counts("dynamo_frontend_requests_total", 1, status="success")


def test_a_parent_above_the_router_stays_the_parent(router, engines):
    one = router(engines[0].address)
    user = one.client()
    user.send(post("/v1/completions", b'{"model":"m"}', "X-Lastcall-Parent: above"))
    _, head = engines[0].request()
    assert head.count(b"X-Lastcall-Parent:") == 1
    assert b"\r\nX-Lastcall-Parent: above\r\n" in head


def test_a_kept_connection_serves_request_after_request(router, engines):
    one = router(engines[0].address)
    user = one.client()
    wire = None
    for _ in range(3):
        user.send(post(body=b'{"model":"m"}'))
        if wire is None:
            wire = engines[0].connection()
        wire.until(b'{"model":"m"}')
        wire.send(ok(b"hello"))
        user.until(b"hello")
    assert engines[0].connections() == 1


def test_events_go_through_one_by_one(router, engines):
    one = router(engines[0].address)
    user = one.client()
    user.send(post(body=b'{"model":"m","stream":true}'))
    wire, _ = engines[0].request()
    wire.send(SSE_HEAD)
    for number in range(3):
        wire.send(chunk(b"data: %d\n\n" % number))
        user.until(b"data: %d\n\n" % number)
    wire.send(chunk(b"data: [DONE]\n\n") + chunk(b""))
    assert user.until(b"0\r\n\r\n").endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    wait_until(
        lambda: one.metric("dynamo_frontend_requests_total", status="success",
                           request_type="stream", model="m") == 1, "it is counted",
    )  # fmt: skip


def test_a_form_that_asks_for_a_stream_is_counted_as_one(router, engines):
    one = router(engines[0].address)
    lines = [(b"file", b'; filename="stream"', b"true"), (b"stream", b"", b"true"),
             (b"model", b"", b"m")]  # fmt: skip
    form = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n' % each for each in lines
    )
    user = one.client()
    user.send(post("/v1/audio/transcriptions", form + b"--x--\r\n",
                   "Content-Type: multipart/form-data; boundary=x"))  # fmt: skip
    wire, _ = engines[0].request()
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n") + chunk(b""))
    user.until(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert one.counts("dynamo_frontend_requests_total", 1, status="success", endpoint="audios",
                      request_type="stream")  # fmt: skip


def test_a_stream_that_its_worker_ends_without_a_finish_is_whole(router, engines):
    """As plain servers do, whose clients stop at [DONE]."""
    one = router(*(each.address for each in engines))
    piece = b'data: {"id":"x","object":"text_completion","choices":[{"index":0,"text":"t%d "}]}\n\n'
    events = b"".join(piece % number for number in range(3)) + b"data: [DONE]\n\n"
    for number in range(1, 4):  # of one body, at workers that live
        user = one.client()
        user.send(post("/v1/completions", b'{"model":"m","prompt":"hi","stream":true}'))
        wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
        wire, _ = next(each for each in engines if each.has_arrived()).request()
        wire.send(SSE_HEAD + chunk(events) + chunk(b""))
        answer = user.until(b"\r\n0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ") and chunk(events) in answer
        wire.close()
        assert one.counts("dynamo_frontend_requests_total", number, status="success")
    assert one.metric("lastcall_router_migrations_total") == 0
    assert one.metric("lastcall_router_failovers_total") == 0
    assert not any(each.has_arrived() for each in engines)


@pytest.mark.parametrize("when", ["before", "after"], ids=["before_a_byte", "in_the_stream"])
def test_a_client_that_leaves_ends_its_leg(router, engines, when):
    one = router(engines[0].address)
    user = one.client()
    user.send(post(body=b'{"model":"m","stream":true}'))
    wire, _ = engines[0].request()
    wire.exactly(27)
    if when == "after":
        wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
        user.until(b"data: 1\n\n")
    user.close()
    assert wire.ended()
    wait_until(
        lambda: one.metric("dynamo_frontend_requests_total", error_type="cancelled") == 1,
        "it is counted",
    )
    assert one.metric("dynamo_frontend_disconnected_clients_total") == 1
    assert one.metric("dynamo_frontend_inflight_requests") == 0


def stream_without_its_last_chunk(router, engines):
    """Where no answer goes on elsewhere, and each passes as it comes."""
    one = router(engines[0].address, migration={"by": "off"})
    user = one.client()
    body = b'{"model":"m","stream":true}'
    user.send(post(body=body))
    wire, _ = engines[0].request()
    wire.exactly(len(body))
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n"))
    return one, user, wire


def test_a_client_that_closes_at_done_has_its_answer(router, engines):
    one, user, wire = stream_without_its_last_chunk(router, engines)
    user.until(b"data: [DONE]\n\n")
    user.close()
    assert wire.ended()
    finished = lambda: one.metric("dynamo_frontend_requests_total", status="success")  # noqa: E731
    wait_until(lambda: finished() == 1, "it is counted")
    assert not one.metric("dynamo_frontend_disconnected_clients_total")


@pytest.mark.parametrize("last", [b"", b"xyz\r\n"], ids=["closed", "malformed"])
def test_a_stream_that_breaks_after_done_is_whole(router, engines, last):
    one, user, wire = stream_without_its_last_chunk(router, engines)
    wire.send(last)
    wire.close()
    assert user.until(b"\r\n0\r\n\r\n").endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    user.send(get())  # its connection is kept
    assert user.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert one.counts("dynamo_frontend_requests_total", 1, status="success")


def test_a_body_above_the_limit_is_refused(router, engines):
    one = router(engines[0].address, limits={"max_body_size": 2048})
    status, _, _ = one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x" * 4096})
    assert status == 413
    assert not engines[0].has_arrived()


def test_a_body_that_stops_in_the_middle_is_refused(router, engines):
    one = router(engines[0].address, timeouts={"client": "300ms"})
    user = one.client()
    user.send(post(body=b"").replace(b"Content-Length: 0", b"Content-Length: 100") + b"{")
    assert user.rest().startswith(b"HTTP/1.1 408 ")
    assert not engines[0].has_arrived()


def test_an_earlier_response_is_known_to_one_worker_alone(router, engines):
    one = router(*(each.address for each in engines))
    body = {"model": "m", "input": "x", "previous_response_id": "r1"}
    status, _, answer = one.ask("POST", "/v1/responses", body)
    assert (status, json.loads(answer)["error"]["param"]) == (400, "previous_response_id")


def test_probes_report_whether_there_are_workers(router, tmp_path):
    one = router({"file": {"directory": str(tmp_path / "none")}})
    assert one.operator("/livez")[0] == 200
    assert one.operator("/readyz") == (503, "no worker is known\n")
    status, headers, _ = one.ask("POST", "/v1/completions", {"model": "m"})
    assert (status, headers["X-Lastcall-Reason"]) == (503, "no_worker")
    assert headers["Retry-After"] == "1"


def test_every_problem_of_a_configuration_is_reported_at_once(tmp_path):
    path = tmp_path / "router.yaml"
    path.write_text("lisen: 127.0.0.1:1\nworkers: []\nchoosing: {attempts: 0}\n")
    done = command("check", "--config", str(path))
    assert done.returncode == 2
    assert f"{path}:1:1: lisen: unknown key, did you mean 'listen'?" in done.stderr
    assert f"{path}:3:22: choosing.attempts: " in done.stderr
    assert done.stderr.endswith("2 errors\n")
    good = command("check", "--set", 'workers=[{static: {urls: ["http://127.0.0.1:1"]}}]')
    assert (good.returncode, good.stdout) == (0, "the defaults: ok\n")
    path.write_text('workers:\n  - static: {urls: ["http://h:1/", "http://h:1/v1"]}\n')
    based = command("check", "--config", str(path))
    assert based.returncode == 2
    assert "workers[0].static.urls[1]: a URL with a path, expected " in based.stderr
    assert based.stderr.endswith("1 error\n")
    none = command("check", "--config", "/dev/null")
    assert (none.returncode, "workers: none, expected a list" in none.stderr) == (2, True)
    assert none.stderr.endswith("/dev/null: 1 error\n")


def test_a_configuration_that_is_missing_is_named_with_where_it_was_looked_for():
    for words in ([], ["check"]):
        missing = command(*words)
        assert missing.returncode == 2
        assert missing.stderr.endswith(
            "the defaults: 1 error; there is no file "
            "(--config, $LASTCALL_ROUTER_CONFIG, /etc/lastcall/router.yaml)\n"
        )


def test_only_check_reads_a_pipe_since_a_reload_would_find_it_empty():
    text = 'workers: [{static: {urls: ["http://127.0.0.1:1"]}}]\nlisten: nowhere\n'
    checked = command("check", "--config", "/dev/stdin", text=text)
    assert checked.stderr.startswith("/dev/stdin:2:9: listen: 'nowhere'")
    served = command("--config", "/dev/stdin", text=text)
    assert (served.returncode, checked.returncode) == (2, 2)
    assert served.stderr.startswith("/dev/stdin: a pipe, expected a file")


def test_a_port_that_is_taken_is_an_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command(
            "--set", f"listen=127.0.0.1:{port}", "--set", f"operators=127.0.0.1:{free_port()}",
            "--set", 'workers=[{static: {urls: ["http://127.0.0.1:1"]}}]',
        )  # fmt: skip
    assert done.returncode == 1
    assert "in use" in done.stderr


def test_a_head_that_two_servers_read_in_two_ways_is_refused(router, engines):
    one = router(engines[0].address)
    user = one.client()
    user.send(get("/v1/models", "Content-Length: 1", "Transfer-Encoding: chunked"))
    assert user.until(b"\r\n").startswith(b"HTTP/1.1 400 ")


def test_no_worker_is_asked_for_an_upgrade(router):
    worker = KindOfEngine("vllm")
    one = router(worker.address, migration={"by": "off"})
    upgrade = ("Connection: Upgrade", "Upgrade: websocket")
    user = one.client()
    user.send(get("/v1/realtime", *upgrade))
    assert user.until(b"\r\n").startswith(b"HTTP/1.1 404 ")
    body = b'{"model":"m","prompt":"x","max_tokens":1}'
    user = one.client()
    user.send(b"POST /v1/completions HTTP/1.1\r\nHost: h\r\n" + "\r\n".join(upgrade).encode()
              + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
    assert user.until(b"\r\n").startswith(b"HTTP/1.1 200 ")
    [head] = worker.heads
    worker.close()
    assert not {"upgrade", "connection"} & {name.lower() for name in head}


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"4000\r\n" + b"x" * 4096, 413), (b"zz\r\n", 400)],
    ids=["too_large", "no_chunk"],
)
def test_the_rest_of_a_refused_body_is_no_request(router, engines, body, status):
    one = router(engines[0].address, limits={"max_body_size": 2048})
    user = one.client()
    user.send(
        b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        + body + get("/v1/models")
    )  # fmt: skip
    said = user.rest()
    assert said.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nConnection: close\r\n" in said
    assert said.count(b"HTTP/1.1 ") == 1


def test_no_head_ends_what_is_behind_the_operators_port(router, engines):
    one = router(engines[0].address)
    assert each_is_answered(one.operators_port)
    assert one.process.poll() is None and one.operator("/livez")[0] == 200
