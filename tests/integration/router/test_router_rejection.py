"""Where all workers of a model are busy, new requests are refused at once, and counted once."""

import http.client
import http.server
import json
import threading

import pytest
from ports import free_port
from raw_engine import RawEngine, ok
from router_world import static
from serve_peer import PATIENCE, wait_until
from test_router_reload import reload

CHAT = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
REJECTIONS = "dynamo_frontend_model_rejection_total"
FULL = {"thresholds": [{"active_decode_blocks_threshold": 0.85}]}


class Teller:
    """The load that a worker reports, at a port of its host; by rank: (blocks, all, tokens)."""

    def __init__(self, host, port):
        self.ranks, self.gauge, self.more, self.asked = {}, None, [], 0
        teller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                teller.asked += 1
                text = teller.text().encode()
                self.send_response(200 if self.path == "/metrics" else 404)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((host, port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def text(self):
        names = ("active_decode_blocks", "kv_total_blocks", "active_prefill_tokens")
        lines = [
            f'lastcall_rank_{name}{{dp_rank="{rank}"}} {figure}'
            for rank, figures in self.ranks.items()
            for name, figure in zip(names, figures, strict=True)
        ]
        if self.gauge is not None:
            lines.append(f'vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} {self.gauge}')
        return "\n".join([*lines, *self.more, ""])

    def tells(self, line):
        """From now on, beside its load."""
        self.more.append(line)

    def tell(self, ranks=None, gauge=None):
        """Until the router has read it."""
        self.ranks, self.gauge = ranks or {}, gauge
        before = self.asked
        wait_until(lambda: self.asked > before + 1, "it was read")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def fleet(router):
    """A router in front of two workers, on two hosts, that report their load at one port."""
    port, made = free_port(), []

    def make(**config):
        engines = [RawEngine("127.0.0.1"), RawEngine("127.0.0.2")]
        tellers = [Teller("127.0.0.1", port), Teller("127.0.0.2", port)]
        made.extend([*engines, *tellers])
        load = {"interval": "20ms", "port": port, **config.pop("load", {})}
        one = router(*(each.address for each in engines), load=load, **config)
        return one, engines, tellers

    yield make
    for each in made:
        each.close()


def call(one, method, body=None, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", one.operators_port, timeout=PATIENCE)
    try:
        headers = {"Content-Type": "application/json"}
        headers |= {"X-Lastcall-Token": token} if token else {}
        connection.request(method, "/busy_threshold", json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def is_served(one, engines):
    """Whether a request is served, by whichever of them it comes to."""
    done = threading.Event()

    def serve():
        while not done.wait(0.01):
            for each in engines:
                if each.has_arrived():
                    each.request()[0].send(ok(b"{}", "Connection: close"))
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        return one.ask("POST", "/v1/chat/completions", CHAT)[0] == 200
    finally:
        done.set()
        thread.join(timeout=PATIENCE)


def refusal(one):
    status, head, body = one.ask("POST", "/v1/chat/completions", CHAT)
    assert status == 503, body
    return head, json.loads(body)["error"]


def test_only_where_every_worker_is_busy_is_a_request_refused(fleet):
    one, engines, tellers = fleet(rejection=FULL)
    tellers[0].tell({0: (90, 100, 0)})
    for _ in range(4):
        assert is_served(one, engines[1:])
    tellers[1].tell({0: (87, 100, 0), 1: (10, 100, 0)})
    assert is_served(one, engines[1:])  # one of its ranks has room
    tellers[1].tell({0: (87, 100, 0), 1: (86, 100, 0)})
    head, error = refusal(one)
    assert error["message"].startswith(
        "Service temporarily unavailable: All workers are busy, please retry later"
    )
    assert (error["type"], error["code"]) == ("service_unavailable", 503)
    assert "above 0.85" in error["message"]
    assert head["X-Lastcall-Reason"] == "busy"
    assert 1 <= int(head["Retry-After"]) <= 2
    assert not any(each.has_arrived() for each in engines)
    one.counts(REJECTIONS, 1, model="m", endpoint="chat_completions")
    one.counts("dynamo_frontend_requests_total", 1, error_type="overload")
    tellers[0].tell({0: (85, 100, 0)})  # at the threshold is not above it
    assert is_served(one, engines[:1])
    one.counts(REJECTIONS, 1)


def test_load_is_shown_by_worker_and_rank_while_the_worker_is_there(fleet):
    one, engines, tellers = fleet()
    tellers[0].tell({0: (30, 120, 7), 3: (60, 120, 0)})
    worker = engines[0].address
    blocks = "dynamo_frontend_worker_active_decode_blocks"
    assert one.metric(blocks, worker_id=worker, dp_rank=0) == 30
    assert one.metric(blocks, worker_id=worker, dp_rank=3) == 60
    assert one.metric("dynamo_frontend_worker_active_prefill_tokens", dp_rank=0) == 7
    assert one.metric("lastcall_router_worker_kv_used_ratio", dp_rank=3) == 0.5
    tellers[0].tell({0: (30, 120, 7)})
    assert one.metric(blocks, dp_rank=3) == 0
    reload(one, workers=[static(engines[1].address)])
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "one is left")
    assert f'worker_id="{worker}"' not in one.operator("/metrics")[1]


def test_a_report_of_a_worker_from_long_ago_does_not_hold(fleet):
    one, engines, tellers = fleet(rejection=FULL, load={"max_age": "300ms"})
    for each in tellers:
        each.tell({0: (90, 100, 0)})
    refusal(one)
    for each in tellers:
        each.close()
    wait_until(lambda: is_served(one, engines), "they count as free again")


def test_gauges_of_an_engine_that_does_nothing_refuse_nobody(fleet):
    one, engines, tellers = fleet(rejection=FULL)
    for each in tellers:
        each.tell(gauge=0.99)
    first, second = one.client(), one.client()
    wires = []
    for client in (first, second):
        client.send(
            b'POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{"model":"m"}'
        )
        wait_until(lambda: any(each.has_arrived() for each in engines), "one was let in")
        wires.append(next(each for each in engines if each.has_arrived()).request()[0])
    refusal(one)  # each has one of ours, and is full
    wires[0].send(ok(b"{}", "Connection: close"))
    first.until(b"{}")
    assert is_served(one, engines)


def test_thresholds_are_set_for_this_replica_and_by_the_file_for_all(fleet):
    one, engines, tellers = fleet(rejection={"http_api": True})
    for each in tellers:
        each.tell({0: (50, 100, 9000)})
    unset = {
        "model": "m",
        "active_decode_blocks_threshold": None,
        "active_prefill_tokens_threshold": None,
        "active_prefill_tokens_threshold_frac": None,
        "holds_for": "all replicas",
    }
    assert call(one, "GET") == (200, {"thresholds": []})
    assert call(one, "POST", {"model": "m"}) == (200, unset)
    assert is_served(one, engines)
    here = {**unset, "active_prefill_tokens_threshold": 8000, "holds_for": "this replica"}
    given = {"model": "m", "active_prefill_tokens_threshold": 8000}
    assert call(one, "POST", given) == (200, here)
    assert call(one, "GET") == (200, {"thresholds": [here]})
    refusal(one)
    assert call(one, "POST", {**given, "model": "n"})[0] == 404
    cleared = {"model": "m", "active_prefill_tokens_threshold": None}
    assert call(one, "POST", cleared) == (200, {**unset, "holds_for": "this replica"})
    assert is_served(one, engines)
    rules = [{"model": "m", "active_decode_blocks_threshold": 0.4}]
    reload(one, rejection={"http_api": True, "thresholds": rules})
    filed = {**unset, "active_decode_blocks_threshold": 0.4}
    wait_until(lambda: call(one, "GET")[1] == {"thresholds": [filed]}, "the file's hold")
    refusal(one)


def test_a_token_lets_set_and_without_the_api_there_is_none(fleet):
    one, _, _ = fleet(rejection={"http_api": True, "http_token": "secret"})
    given = {"model": "m", "active_decode_blocks_threshold": 0}
    assert call(one, "POST", given)[0] == 401
    assert call(one, "POST", given, token="wrong")[0] == 403
    assert call(one, "GET")[0] == 200
    assert call(one, "POST", given, token="secret")[0] == 200
    one.counts("lastcall_router_threshold_calls_refused_total", 2)
    refusal = "a call of /busy_threshold was refused because of its token"
    assert one.log().count(refusal) == 1  # the first
    assert '"from":"127.0.0.1","status":401' in one.log()


def test_without_the_api_thresholds_are_not_served(router, engines):
    one = router(engines[0].address)
    assert one.operator("/busy_threshold")[0] == 404


def test_the_last_workers_own_refusal_is_counted_once(router, engines):
    one = router(*(each.address for each in engines))
    client = one.client()
    client.send(
        b'POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{"model":"m"}'
    )
    for _ in engines:
        wait_until(lambda: any(each.has_arrived() for each in engines), "one is asked")
        wire, _ = next(each for each in engines if each.has_arrived()).request()
        wire.send(
            b"HTTP/1.1 503 Service Unavailable\r\nX-Lastcall-Reason: overloaded\r\n"
            b"x-should-retry: true\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"
        )
    assert b"Retry-After: 3" in client.until(b"\r\n\r\n")
    one.counts(REJECTIONS, 1, model="m", endpoint="completions")
