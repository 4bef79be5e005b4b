"""Workers out of a real etcd: they come and go with their keys, and stay when it is away."""

import contextlib
import http.client
import http.server
import json
import signal
import threading

import pytest
from raw_engine import ok, post
from registry_world import etcd_world
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

BODY = b'{"model":"m"}'


def key(number, component="backend"):
    return f"v1/instances/dynamo/{component}/generate/{number:x}"


def value(address, model="m"):
    transport = {"http": f"http://{address}"}
    return json.dumps({"type": "Endpoint", "transport": transport, "model": model})


def source(etcd, **more):
    return {"etcd": {"endpoints": etcd.urls, **more}}


def knows(one, count):
    wait_until(
        lambda: one.metric("lastcall_router_workers") == count, f"{count} known", patience=60
    )


def is_failing(one, expected):
    wait_until(
        lambda: one.metric("lastcall_router_source_failing") == expected, "it is told", patience=60
    )


def asks(one, engine):
    user = one.client()
    user.send(post(body=BODY))
    wire, _ = engine.request()
    wire.until(BODY)
    wire.send(ok(b"hello", "Connection: close"))
    user.until(b"hello")


@pytest.fixture
def gateway(etcd):
    with contextlib.closing(etcd.gateway()) as one:
        yield one


def test_workers_follow_their_keys(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    gateway.put(key(2), json.dumps({"transport": {"tcp": "10.0.0.1:1/x"}}))  # not for us
    gateway.put(key(3), "{")
    one = router(source(etcd))
    knows(one, 1)
    asks(one, engines[0])
    gateway.put(key(4), value(engines[1].address))
    knows(one, 2)
    gateway.delete(key(1))
    knows(one, 1)
    for _ in range(5):
        asks(one, engines[1])
    assert not engines[0].has_arrived()
    gateway.put(key(4), value(engines[1].address, model="n"))
    wait_until(lambda: b'"n"' in one.ask("GET", "/v1/models")[2], "the model is another")


def test_a_worker_that_lastcall_registers_comes_and_goes(router, engines, etcd, world):
    one = router(source(etcd, namespace="dynamo", component="backend"))
    worker = etcd_world(
        world, etcd, identity={"advertise": f"http://{engines[0].address}", "model": "m"}
    )
    process = worker.run(*SLEEPER)
    knows(one, 1)
    asks(one, engines[0])
    process.send_signal(signal.SIGTERM)
    knows(one, 0)
    assert process.wait(timeout=3 * PATIENCE) is not None


def test_a_component_may_be_chosen(router, engines, etcd, gateway):
    gateway.put(key(1, "prefill"), value(engines[0].address))
    gateway.put(key(2, "decode"), value(engines[1].address))
    one = router(source(etcd, namespace="dynamo", component="decode"))
    knows(one, 1)
    asks(one, engines[1])


def test_a_worker_with_a_path_is_reported_and_skipped(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    gateway.put(key(2), value(engines[1].address + "/prefix"))
    one = router(source(etcd))
    knows(one, 1)
    gateway.put(key(3), value("10.0.0.1:1"))
    knows(one, 2)
    assert one.log().count("skipping an entry that is not a worker") == 1


def test_more_workers_than_a_page_are_all_known(router, etcd, gateway):
    for number in range(1, 1002):
        gateway.put(key(number), value(f"10.0.{number // 250}.{number % 250}:1"))
    one = router(source(etcd))
    knows(one, 1001)


def test_workers_stay_while_etcd_is_away(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    one = router(source(etcd))
    knows(one, 1)
    etcd.kill()
    is_failing(one, 1)
    assert "its last known workers stay in use" in one.log()
    assert "source" in one.operator("/readyz?verbose")[1]
    asks(one, engines[0])
    etcd.start()
    is_failing(one, 0)
    asks(one, engines[0])
    with contextlib.closing(etcd.gateway()) as again:
        again.put(key(2), value(engines[1].address))
        knows(one, 2)
    etcd.kill()
    is_failing(one, 1)
    etcd.start(forget=True)  # what it names now holds, even if it is nothing
    knows(one, 0)
    is_failing(one, 0)


def test_a_frozen_etcd_is_noticed(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    one = router(source(etcd))
    knows(one, 1)
    etcd.signal(signal.SIGSTOP)
    is_failing(one, 1)
    asks(one, engines[0])
    etcd.signal(signal.SIGCONT)
    is_failing(one, 0)


def test_the_first_look_may_fail(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    etcd.kill()
    one = router(source(etcd))
    is_failing(one, 1)
    assert one.operator("/readyz")[0] == 503
    etcd.start()
    knows(one, 1)


class Meddler(http.server.ThreadingHTTPServer):
    """Passes requests on to etcd; its first watch asks for what was compacted long ago."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Meddling)
        self.target, self.watches, self.lists = port, [], 0
        self.urls = [f"http://127.0.0.1:{self.server_address[1]}"]
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Meddling(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v3/watch":
            self.server.watches.append(dict(body["create_request"]))
            if len(self.server.watches) == 1:
                body["create_request"]["start_revision"] = "1"
        elif "limit" in body:
            self.server.lists += 1
        there = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        with contextlib.closing(there), contextlib.suppress(OSError, http.client.HTTPException):
            there.request("POST", self.path, json.dumps(body))
            answer = there.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while data := answer.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def test_workers_are_listed_again_after_a_compaction(router, engines, etcd, gateway):
    revision = gateway.put(key(1), value(engines[0].address))["header"]["revision"]
    gateway.ask("kv/compaction", revision=revision, physical=True)
    meddler = Meddler(etcd.port)
    one = router(source(meddler))
    wait_until(lambda: len(meddler.watches) >= 2, "it is watched again", patience=60)
    gateway.put(key(2), value(engines[1].address))
    knows(one, 2)
    assert meddler.lists == 2
    assert "last known workers" not in one.log()  # it is not a failure
    meddler.shutdown()
    meddler.server_close()
