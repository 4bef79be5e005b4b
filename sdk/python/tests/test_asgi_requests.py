"""The ASGI middleware by itself: requests from their first byte to their last."""

import asyncio
import json

import pytest
from asgi_server import (
    Server,
    answer,
    echo,
    hang,
    leaves_while_it_waits,
    run,
    stream_until_left,
    wrap,
)
from strict_supervisor import eventually


@pytest.mark.parametrize("app", [hang, stream_until_left])
def test_a_client_that_leaves_is_a_cancel_and_gets_nothing(supervisor, client, app):
    async def main():
        server = Server(wrap(app, client), x_request_id="r").start()
        while client.find("r") is None:
            await asyncio.sleep(0)
        server.leave()
        assert await server.ends() is None
        assert b"error" not in server.body

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("cancel")["reason"] == "client_disconnect"
    supervisor.wait("cancel.done", id="r")
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def begun_by(supervisor, client, requests):
    """The ids that were announced, of (X-Lastcall-Probe, the client's address, id)."""

    async def main():
        for said, address, name in [*requests, (None, ("10.0.0.9", 1), "last")]:
            header = {} if said is None else {"x_lastcall_probe": said}
            server = Server(wrap(echo, client), x_request_id=name, **header)
            server.scope["client"] = address
            assert await server.start().ends() is None
            assert server.status == 200

    eventually(lambda: client.connected)
    run(main)
    supervisor.wait("request.begin", id="last")
    return [each["id"] for each in supervisor.all("request.begin")][:-1]


@pytest.mark.parametrize("address", [("127.0.0.1", 4711), ("10.0.0.7", 4711), None])
def test_the_supervisors_own_request_is_known_by_its_mark_wherever_it_comes_from(
    supervisor, make_client, address
):
    """A pod's own address, a Unix socket, a loopback address that any proxy has."""
    supervisor.probe = "5f0c"
    said = [("5f0c", address, "own"), ("1", address, "guessed"), ("", address, "empty")]
    assert begun_by(supervisor, make_client(), said) == ["guessed", "empty"]


def test_a_supervisor_that_sends_no_mark_is_one_on_the_same_host(supervisor, client):
    said = [("1", ("127.0.0.1", 1), "own"), ("1", ("10.0.0.7", 1), "another"), ("1", None, "none")]
    assert begun_by(supervisor, client, said) == ["another", "none"]


def test_a_client_that_leaves_while_it_waits_gives_its_place_back(supervisor, client):
    leaves_while_it_waits(
        supervisor, client, lambda: Server(wrap(echo, client), x_request_id="r")
    )


def test_a_refusal_for_lack_of_capacity_has_limit_and_count(supervisor, client):
    async def main():
        server = Server(wrap(echo, client, overload_status=529), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "request.begin")
        supervisor.send("rejected", id="r", reason="overloaded", limit=3, count=4)
        assert await server.ends() is None
        assert server.status == 529
        assert server.header("x-lastcall-limit") == b"3"
        assert server.header("x-lastcall-count") == b"4"
        error = json.loads(server.body)["error"]
        assert error["message"] == "Server overloaded: worker at capacity"
        assert (error["code"], error["reason"], error["limit"], error["count"]) == (
            529, "overloaded", 3, 4,
        )  # fmt: skip

    eventually(lambda: client.connected)
    supervisor.admit = False
    run(main)


@pytest.mark.parametrize(
    "reason, wait_ms, kind, seconds",
    [("draining", None, "draining", b"1"), ("overloaded", 1500, "overloaded", b"2"),
     ("queue_timeout", 200, "overloaded", b"1")],
)  # fmt: skip
def test_a_refusal_is_typed_and_can_be_retried(supervisor, client, reason, wait_ms, kind, seconds):
    async def main():
        server = Server(wrap(echo, client), x_request_id="r").start()
        await asyncio.to_thread(supervisor.wait, "request.begin")
        wait = {} if wait_ms is None else {"retry_after_ms": wait_ms}
        supervisor.send("rejected", id="r", reason=reason, **wait)
        assert await server.ends() is None
        assert (server.status, server.is_complete) == (503, True)
        assert server.header("retry-after") == seconds
        assert server.header("retry-after-ms") == b"%d" % (wait_ms or 1000)
        assert server.header("x-should-retry") == b"true"
        assert server.header("x-lastcall-reason") == reason.encode()
        error = json.loads(server.body)["error"]
        assert (error["type"], error["retryable"], error["request_id"]) == (kind, True, "r")

    eventually(lambda: client.connected)
    supervisor.admit = False
    run(main)


def test_an_id_that_is_live_gets_a_suffix_even_if_both_come_at_once(supervisor, client):
    async def main():
        first = Server(wrap(hang, client), x_request_id="r").start()
        second = Server(wrap(hang, client), x_request_id="r").start()
        while client.in_flight < 2:
            await asyncio.sleep(0)
        third = Server(wrap(echo, client), x_request_id="r")
        assert await third.start().ends() is None
        for server in (first, second):
            server.leave()
            await server.ends()

    eventually(lambda: client.connected)
    run(main)
    ids = [supervisor.wait("request.begin", n)["id"] for n in (1, 2, 3)]
    assert "r" in ids and len(set(ids)) == 3
    assert sum(each.startswith("r-") for each in ids) >= 1


def test_the_ids_of_a_caller_are_taken_over(supervisor, client):
    async def main():
        server = Server(wrap(echo, client), x_request_id="r/1", x_lastcall_root="r%2525",
                        x_lastcall_parent="r")  # fmt: skip
        assert await server.start().ends() is None
        wild = Server(wrap(echo, client), x_request_id="s", x_lastcall_root="x" * 300,
                      x_lastcall_parent="s")  # fmt: skip
        assert await wild.start().ends() is None

    eventually(lambda: client.connected)
    run(main)
    begun = supervisor.wait("request.begin", id="r/1")
    assert (begun["root"], begun["parent"]) == ("r%25", "r")
    begun = supervisor.wait("request.begin", id="s")
    assert "root" not in begun and "parent" not in begun


@pytest.mark.parametrize(
    "status, outcome", [(200, "completed"), (400, "completed"), (500, "error")]
)
def test_the_status_is_the_outcome(supervisor, client, status, outcome):
    async def app(scope, receive, send):
        await answer(send, b"{}", status=status)

    eventually(lambda: client.connected)
    run(lambda: Server(wrap(app, client)).start().ends())
    assert supervisor.wait("request.end")["outcome"] == outcome


def test_an_application_that_fails_is_an_error_and_the_servers_to_answer(supervisor, client):
    async def fail(scope, receive, send):
        raise KeyError("boom")

    async def main():
        assert isinstance(await Server(wrap(fail, client)).start().ends(), KeyError)

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end")["outcome"] == "error"


def test_work_after_the_last_byte_is_not_in_flight(supervisor, client):
    async def with_background_work(scope, receive, send):
        await answer(send, b"{}")
        assert client.in_flight == 0

    eventually(lambda: client.connected)

    async def main():
        assert await Server(wrap(with_background_work, client)).start().ends() is None

    run(main)


def test_a_task_that_the_server_cancels_ends_its_request(supervisor, client):
    async def main():
        server = Server(wrap(hang, client), x_request_id="r").start()
        while client.find("r") is None:
            await asyncio.sleep(0)
        server.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await server.task

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


@pytest.mark.parametrize(
    ("header", "expected"), [(None, "0"), ("9f2c71d04ab85e33", "9f2c71d04ab85e33"), ("NO WAY", "0")]
)
def test_the_way_that_a_request_came_is_reported(supervisor, client, header, expected):
    headers = {"x_lastcall_way": header} if header else {}

    async def main():
        assert await Server(wrap(echo, client), x_request_id="r", **headers).start().ends() is None

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.begin", id="r")["way"] == expected
