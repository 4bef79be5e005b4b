"""The client against a strict scripted supervisor on a real socket: requests and cancels."""

import sys

import pytest
from strict_supervisor import eventually

import lastcall


def test_without_a_socket_everything_works_and_nothing_happens(monkeypatch):
    monkeypatch.delenv("LASTCALL_SOCKET", raising=False)
    client = lastcall.Client("alone")
    assert not client.enabled and not client.connected
    client.register_endpoint("generate")
    with client.begin("r", admit=True) as context:
        client.progress("r")
        assert client.in_flight == 1
        assert client.cancel("r") == 1
    assert context.outcome == "cancelled"
    assert client.in_flight == 0
    assert client.report_fatal("x") is False
    client.close()


def test_hello_comes_first_and_identifies_the_client(supervisor, make_client):
    client = make_client("decode-0", critical=True)
    hello = supervisor.wait("hello")
    assert hello == {
        "op": "hello", "version": 1, "role": "engine", "name": "decode-0",
        "sdk": f"python/{lastcall.__version__}", "critical": True, "live": 0,
    }  # fmt: skip
    eventually(lambda: client.connected)
    assert client.phase == "serving"


def test_a_request_is_begun_moves_and_ends(supervisor, client):
    eventually(lambda: client.connected)
    client.register_endpoint("generate")
    client.register_endpoint("decode", graceful_shutdown=False)
    with client.begin("r1", endpoint="generate", model="m", root="u1") as context:
        context.progress()
        assert supervisor.wait("request.progress")["ids"] == ["r1"]
    assert supervisor.wait("endpoint.register", 2) == {
        "op": "endpoint.register", "endpoint": "decode", "graceful_shutdown": False,
    }  # fmt: skip
    assert supervisor.wait("request.begin") == {
        "op": "request.begin", "id": "r1", "root": "u1", "endpoint": "generate", "model": "m",
    }  # fmt: skip
    assert supervisor.wait("request.end")["outcome"] == "completed"
    assert supervisor.all("cancel.done") == []


def test_progress_of_many_tokens_is_reported_once_an_interval(supervisor, client):
    eventually(lambda: client.connected)
    with client.begin("r"):
        for _ in range(100_000):
            client.progress("r")
        supervisor.wait("request.progress")
    supervisor.wait("request.end")
    assert len(supervisor.all("request.progress")) < 20


def test_a_live_duplicate_id_is_refused_and_a_used_one_is_free(client):
    with client.begin("same"):
        with pytest.raises(ValueError, match="'same'"):
            client.begin("same")
    client.begin("same").end()


def test_a_cancel_from_the_supervisor_raises_the_state_and_is_confirmed(supervisor, client):
    eventually(lambda: client.connected)
    called = []
    contexts = [client.begin(f"r{i}") for i in range(3)]
    for context in contexts:
        context.on_stop(lambda each: called.append(each.id()))
    supervisor.wait("request.begin", 3)
    supervisor.cancel("r0", "r2", "gone", mode="stop", reason="migrate", seq=5)
    assert supervisor.wait("ack")["seq"] == 5
    assert called == ["r0", "r2"]
    assert contexts[0].is_stopped() and not contexts[0].is_killed()
    assert contexts[0].reason == "migrate"
    assert not contexts[1].is_stopped()
    contexts[0].end()
    supervisor.wait("cancel.done", id="r0")
    assert supervisor.wait("request.end", id="r0")["outcome"] == "migrated"
    assert contexts[2].confirm() is True
    assert contexts[2].confirm() is False
    supervisor.wait("cancel.done", id="r2")
    contexts[2].end()
    supervisor.wait("request.end", id="r2")
    assert len(supervisor.all("cancel.done")) == 2
    assert supervisor.all("cancel") == []  # it knows already


def test_a_local_cancel_is_reported_with_all_that_it_reaches(supervisor, client):
    eventually(lambda: client.connected)
    parent = client.begin("p", root="u")
    child = client.begin("c", parent=parent)
    assert child.root == "u"
    assert supervisor.wait("request.begin", id="c")["parent"] == "p"
    parent.kill(reason="client_disconnect")
    assert supervisor.wait("cancel", reason="client_disconnect") == {
        "op": "cancel", "ids": ["p"], "mode": "kill", "reason": "client_disconnect",
    }  # fmt: skip
    assert supervisor.wait("cancel", reason="parent")["ids"] == ["c"]
    assert parent.kill() is False
    child.end()
    parent.end()
    supervisor.wait("request.end", 2)
    assert len(supervisor.all("cancel")) == 2


def test_the_cause_is_found_whether_parent_or_child_is_notified_first(supervisor, client):
    eventually(lambda: client.connected)
    parent = client.begin("p")
    child = client.begin("c", parent=parent)
    supervisor.wait("request.begin", 2)
    supervisor.cancel("c", reason="parent")
    supervisor.cancel("p", reason="grace_timeout")
    assert parent.wait_stopped(10)
    assert (child.reason, child.cause) == ("parent", "grace_timeout")
    child.end()
    assert child.outcome == "migrated"


def test_a_request_of_a_cancelled_parent_is_cancelled_at_once(supervisor, client):
    eventually(lambda: client.connected)
    supervisor.admit = False
    parent = client.begin("p")
    parent.kill(reason="client_disconnect")
    with pytest.raises(lastcall.Cancelled) as caught:
        client.begin("c", parent=parent, admit=True)
    assert caught.value.reason == "client_disconnect"
    with client.begin("d", parent=parent) as late:
        assert late.is_killed()


def test_cancel_by_root_reaches_all_sub_requests(client):
    contexts = [client.begin(root="user-7") for _ in range(3)] + [client.begin()]
    assert client.cancel(root="user-7", kill=True) == 3
    assert [each.is_killed() for each in contexts] == [True, True, True, False]


def test_a_thousand_long_ids_are_cancelled_in_lines_that_fit(supervisor, client):
    eventually(lambda: client.connected)
    parent = client.begin("p")
    contexts = [client.begin(f"{i:04}" + "é" * 126, parent=parent) for i in range(1000)]
    parent.stop()
    eventually(lambda: sum(len(each["ids"]) for each in supervisor.all("cancel")) == 1001)
    assert all(each.is_stopped() for each in contexts)


@pytest.mark.parametrize("given, sent", [(1, True), ("yes", True), (0, False), (True, True)])
def test_a_client_of_the_engine_cannot_spoil_the_line_that_asks(supervisor, client, given, sent):
    # Programs pass on what a client's JSON has, and a line that is refused asks for nothing.
    eventually(lambda: client.connected)
    client.begin("r", stream=given, admit=True)
    assert supervisor.wait("request.begin", id="r")["stream"] is sent
    for model in (7, {}, ["m"]):
        with pytest.raises(lastcall.InvalidArgument, match="cannot use the name"):
            client.begin("s", model=model)


@pytest.mark.parametrize("given, sent", [
    ("9f2c71d04ab85e33", "9f2c71d04ab85e33"), ("0", "0"), ("", "0"), ("no number", "0"),
    ("x" * 300, "0"),
])  # fmt: skip
def test_a_way_that_no_ingress_can_have_sent_does_not_spoil_the_line(
    supervisor, client, given, sent
):
    eventually(lambda: client.connected)
    with client.request("r", way=given, admit=True):
        assert supervisor.wait("request.begin", id="r")["way"] == sent
    with pytest.raises(lastcall.InvalidArgument, match="cannot use the way 7"):
        client.request("s", way=7)


def test_a_path_that_is_too_long_is_a_clear_error(monkeypatch):
    path = "/tmp/" + "x" * 110
    with pytest.raises(lastcall.InvalidArgument, match="107"):
        lastcall.Client(socket=path)
    monkeypatch.setenv("LASTCALL_SOCKET", path)
    with pytest.raises(lastcall.LastcallError, match="107"):
        lastcall.connect()


@pytest.mark.parametrize(
    "misuse",
    [lambda client: client.begin(""), lambda client: client.begin("x" * 257),
     lambda client: client.begin("a", priority=8), lambda client: client.begin("live"),
     lambda client: client.register_endpoint("\udce9"), lambda client: client.cancel(),
     lambda client: client.find("live").stop("because")],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_an_error_of_the_package(client, misuse):
    client.begin("live")
    with pytest.raises(lastcall.InvalidArgument) as raised:
        misuse(client)
    assert isinstance(raised.value, (lastcall.LastcallError, ValueError))


@pytest.mark.parametrize(
    "path, name",
    [("/usr/bin/vllm", "vllm"), ("/lib/uvicorn/__main__.py", "uvicorn"),
     ("engine.py", "engine.py"), ("-c", "python"), ("-m", "python"), ("", "python")],
)  # fmt: skip
def test_a_client_is_named_after_its_program(monkeypatch, path, name):
    monkeypatch.setattr(sys, "argv", [path])
    assert lastcall.Client(socket="").name == name


def test_requests_of_an_endpoint_have_its_model_unless_they_name_another(supervisor, client):
    eventually(lambda: client.connected)
    client.register_endpoint("generate", model="m")
    with client.request("one", endpoint="generate"), client.request(
        "two", endpoint="generate", model="other"
    ), client.request("three", endpoint="embed"):
        pass
    assert supervisor.wait("request.begin", id="one")["model"] == "m"
    assert supervisor.wait("request.begin", id="two")["model"] == "other"
    assert "model" not in supervisor.wait("request.begin", id="three")
