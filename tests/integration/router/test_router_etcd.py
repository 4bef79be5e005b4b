"""Workers out of a real etcd: they come and go with their keys, and stay when it is away."""

import contextlib
import http.client
import http.server
import json
import signal
import threading

import pytest
from etcd_server import Etcd, guard
from raw_engine import ok, post
from registry_world import etcd_world
from router_world import BODY, asks
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER
from tcp_proxy import TcpProxy
from test_router_reload import reload


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


def asks_either(one, engines):
    """Both workers are tried in turn: no request is refused for want of a worker."""
    user = one.client()
    user.send(post(body=BODY))
    wait_until(lambda: any(each.has_arrived() for each in engines), "it has arrived")
    found = next(each for each in engines if each.has_arrived())
    wire, _ = found.request()
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
    # Workers of others are not for this router; what nobody can read is reported once.
    skipped = [line for line in one.log().splitlines() if "skipping an entry" in line]
    assert len(skipped) == 1 and key(3) in skipped[0]


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


# A sanitizer's build may need more than the time of a list, 10 s, to read that much.
@pytest.mark.plain_build
def test_large_values_of_others_do_not_hide_the_workers(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    for number in range(2, 402):
        gateway.put(key(number), json.dumps({"transport": {"tcp": "x"}, "more": "x" * 12000}))
    gateway.put(key(402), value(engines[1].address))
    one = router(source(etcd))
    knows(one, 2)
    assert "last known workers" not in one.log()


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


def test_an_etcd_that_took_the_place_of_a_lost_one_is_listed(
    router, engines, etcd, gateway, tmp_path_factory
):
    for _ in range(20):  # its revisions are far ahead of those of the new one
        gateway.put(key(1), value(engines[0].address))
    with contextlib.closing(TcpProxy(etcd.port)) as proxy, contextlib.closing(
        Etcd(str(tmp_path_factory.mktemp("another")))
    ) as another:
        one = router({"etcd": {"endpoints": [proxy.url]}})
        knows(one, 1)
        gateway.put(key(2), value(engines[1].address))
        knows(one, 2)  # the watch is established: a change came by it
        etcd.signal(signal.SIGSTOP)  # as if its node were lost: nobody closes its connections
        with contextlib.closing(another.gateway()) as new:
            new.put(key(1), value(engines[1].address))
        proxy.target = another.port
        wait_until(lambda: "a worker has left" in one.log(), "the old one has left", patience=60)
        asks(one, engines[1])
        assert "last known workers" not in one.log()  # it was never told that one was lost


def test_the_first_look_may_fail(router, engines, etcd, gateway):
    gateway.put(key(1), value(engines[0].address))
    etcd.kill()
    one = router(source(etcd))
    is_failing(one, 1)
    assert one.operator("/readyz")[0] == 503
    etcd.start()
    knows(one, 1)


def test_a_changed_source_keeps_its_workers_until_it_has_been_listed(
    router, engines, etcd, gateway
):
    gateway.put(key(1), value(engines[0].address))
    gateway.put(key(2, "other"), value(engines[1].address))
    one = router(source(etcd))
    knows(one, 2)
    etcd.kill()
    is_failing(one, 1)
    reload(one, workers=[source(etcd, namespace="dynamo", component="backend")])
    wait_until(lambda: one.log().count("its last known workers stay") == 2, "it is tried")
    assert one.metric("lastcall_router_workers") == 2
    reload(one, workers=[source(etcd, namespace="dynamo", component="other")])
    wait_until(lambda: one.log().count("its last known workers stay") == 3, "it is tried")
    asks_either(one, engines)
    etcd.start()
    knows(one, 1)
    is_failing(one, 0)
    asks(one, engines[1])
    assert "a worker has joined" in one.log()
    assert one.metric("lastcall_router_workers_left_total") == 1  # the other was known throughout


def test_of_two_sources_of_one_name_each_is_told_to_fail(router, etcd):
    token = guard(etcd)
    one = router(
        source(etcd, component="a", namespace="n"),
        source(etcd, component="b", namespace="n", username="root", password_file="/none"),
    )
    failed = "its last known workers stay in use"
    wait_until(lambda: one.log().count(failed) == 2, "both fail")
    with contextlib.closing(etcd.gateway()) as root:
        root.token = token
        root.ask("auth/disable")
    wait_until(lambda: "can be read again" in one.log(), "one can be read", patience=60)
    assert one.metric("lastcall_router_source_failing") == 1  # the other has no password
    assert "cannot be read" in one.operator("/readyz?verbose")[1]


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
