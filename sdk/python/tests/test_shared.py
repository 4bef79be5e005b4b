"""A client that was forked away or closed: what its users send goes through `connect()`'s."""

import logging

from strict_supervisor import eventually
from test_process import run_python

import lastcall
from lastcall import session, shared

FORKED = """
import asyncio, lastcall, os, threading, time
def wait_for(client):
    while not client.connected: time.sleep(0.01)
client = lastcall.connect("parent"{options})
{before}
wait_for(client)
pid = os.fork()
if pid == 0:
    assert not client.enabled
    {unconnected}
    mine = lastcall.connect("child")
    assert mine is not client and client.enabled
    wait_for(client)
    {after}
    mine.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
client.close()
"""


def forked(path, before, after, unconnected="pass", options=""):
    done = run_python(
        FORKED.format(before=before, after=after, unconnected=unconnected, options=options), path
    )
    assert done.returncode == 0, done.stderr
    return done


def ops_of_the_child(supervisor, *left_out):
    supervisor.wait("hello", 2)
    eventually(lambda: supervisor.ops(2)[-1:] not in ([], ["hello"]))
    return [each for each in supervisor.ops(2) if each not in ("hello", *left_out)]


def test_a_handler_of_before_the_fork_is_tracked_once_the_child_has_connected(supervisor, path):
    forked(
        path,
        "@client.endpoint('generate', graceful_shutdown=False)\ndef generate(): yield 1",
        "list(generate(request_id='r'))",
        unconnected="list(generate(request_id='unconnected'))",
    )
    supervisor.wait("request.end", id="r", connection=2)
    assert ops_of_the_child(supervisor, "request.progress") == [
        "endpoint.register", "request.begin", "request.end",
    ]  # fmt: skip
    assert supervisor.all("endpoint.register", 2)[0]["graceful_shutdown"] is False
    assert [each["id"] for each in supervisor.all("request.begin")] == ["r"]


def test_requests_and_endpoints_of_a_client_of_before_the_fork_are_the_childs(supervisor, path):
    forked(
        path,
        "client.register_endpoint('decode')",
        "context = client.begin('r', endpoint='decode')\n"
        "    assert mine.find('r') is context is client.find('r') and client.in_flight == 1\n"
        "    assert client.end('r')\n"
        "    client.unregister_endpoint('decode')\n"
        "    client.begin('s', endpoint='decode').end()\n"
        "    client.register_endpoint('encode')",
    )
    supervisor.wait("endpoint.register", endpoint="encode", connection=2)
    assert ops_of_the_child(supervisor) == [
        "endpoint.register", "request.begin", "request.end", "endpoint.unregister",
        "request.begin", "request.end", "endpoint.register",
    ]  # fmt: skip


def test_an_endpoint_that_the_child_has_registered_itself_stays_as_it_is(supervisor, path):
    forked(
        path,
        "client.register_endpoint('decode')",
        "mine.register_endpoint('decode', graceful_shutdown=False)\n"
        "    client.begin('r', endpoint='decode').end()",
    )
    supervisor.wait("request.end", connection=2)
    assert [e["graceful_shutdown"] for e in supervisor.all("endpoint.register", 2)] == [False]


MIDDLEWARE = """
import lastcall.asgi
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
wrapped = lastcall.asgi.Middleware(app, client=client)
def post():
    body = [{"type": "http.request", "body": b"", "more_body": False}]
    async def receive(): return body.pop() if body else await asyncio.Event().wait()
    async def send(message): pass
    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": []}
    asyncio.run(wrapped(scope, receive, send))
"""


def test_the_middleware_with_a_client_of_before_the_fork_tracks_in_the_child(supervisor, path):
    forked(path, MIDDLEWARE + "post()", "post()", unconnected="post()")
    assert supervisor.wait("request.end", connection=2)["outcome"] == "completed"
    assert supervisor.wait("request.begin", connection=2)["endpoint"] == "completions"
    assert supervisor.ops(2)[1] == "endpoint.register"
    assert len(supervisor.all("request.begin")) == 2


def test_a_guard_of_before_the_fork_reports_for_the_child(supervisor, path):
    forked(
        path,
        "@client.guard('loop')\ndef loop(): raise OSError('gone')",
        "try: loop()\n    except OSError: pass",
    )
    supervisor.wait("fatal", connection=2, reason="loop failed: OSError")


def test_uncaught_exceptions_are_reported_as_the_child_and_not_its_parent_chose(supervisor, path):
    done = forked(
        path,
        "",
        "thread = threading.Thread(target=lambda: 1 / 0)\n    thread.start(); thread.join()\n"
        "    client.begin('last').end()",
        options=", report_uncaught='all'",
    )
    supervisor.wait("request.end", id="last", connection=2)
    assert "ZeroDivisionError" in done.stderr
    assert supervisor.all("fatal") == []


def connected(*arguments, **options):
    client = lastcall.connect(*arguments, **options)
    eventually(lambda: client.connected)
    return client


def test_after_the_close_connect_gives_a_client_that_works(supervisor, path, monkeypatch):
    monkeypatch.setattr(shared, "_shared", None)
    with connected("engine", socket=path, critical=True) as first:

        @first.endpoint("generate")
        def generate():
            yield 1

        list(generate(request_id="r1"))
    with connected() as second:
        assert second is not first and first.connected
        list(generate(request_id="r2"))
        supervisor.wait("request.end", id="r2", connection=2)
        assert [each["endpoint"] for each in supervisor.all("endpoint.register", 2)] == ["generate"]
    assert [(each["name"], each["critical"]) for each in supervisor.all("hello")] == [
        ("engine", True)
    ] * 2
    with connected("other", socket=path) as third:
        assert third is lastcall.connect()


def test_the_end_of_the_process_closes_the_client_for_good(supervisor, path, monkeypatch):
    monkeypatch.setattr(shared, "_shared", None)
    with connected(socket=path) as client:
        session.close_all(5)  # as the last of a process does, where no thread could be had
        assert lastcall.connect() is client


def test_requests_of_a_closed_client_of_ones_own_stay_with_it(supervisor, path, tmp_path, caplog,
                                                              monkeypatch):  # fmt: skip
    monkeypatch.setattr(shared, "_shared", None)
    other = lastcall.Client(socket=str(tmp_path / "other.sock"))
    other.close()
    with connected(socket=path), caplog.at_level(logging.WARNING, "lastcall"):
        for _ in range(2):
            other.begin().end()
    [record] = caplog.records
    assert "closed client" in record.getMessage()
    assert supervisor.all("request.begin") == []


def test_nothing_is_logged_of_a_closed_client_without_a_socket(caplog, monkeypatch):
    monkeypatch.delenv("LASTCALL_SOCKET", raising=False)
    client = lastcall.Client()
    client.close()
    client.begin().end()
    assert caplog.records == []
