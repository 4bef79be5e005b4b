"""What the ASGI middleware tracks, and what it leaves exactly as it is."""

import asyncio
import sys

import pytest
from asgi_server import Server, echo, run, wrap
from strict_supervisor import eventually

import lastcall
from lastcall.asgi import Middleware
from lastcall.asgi_options import Options


@pytest.mark.parametrize(
    "method, path, endpoint",
    [
        ("POST", "/v1/chat/completions", "chat_completions"),
        ("POST", "/v1/completions", "completions"),
        ("POST", "/v1/embeddings", "embeddings"),
        ("POST", "/v1/responses", "responses"),
        ("POST", "/v1/messages", "anthropic_messages"),
        ("POST", "/v1/audio/speech", "audios"),
        ("POST", "/generate", "generate"),
        ("POST", "/anything/else", "other"),
        ("GET", "/v1/chat/completions", None),
        ("GET", "/health", None),
        ("GET", "/mine", "own"),
        ("POST", "/mine", "own"),
        ("POST", "/admin/sleep", None),
        ("POST", "/reset", None),
        ("POST", "/reset/more", "other"),
    ],
)
def test_the_endpoint_is_named_from_the_path(method, path, endpoint):
    options = Options.from_environment({
        "LASTCALL_ASGI_ENDPOINTS": "/mine=own, /yours = theirs",
        "LASTCALL_ASGI_IGNORE": "/admin/*,/reset",
    })  # fmt: skip
    assert options.endpoint_of(method, path) == endpoint


def test_the_defaults_are_the_same_with_and_without_an_environment():
    assert Options.from_environment({}) == Options()
    given = Options.from_environment({"LASTCALL_ASGI_ADMIT": "false",
                                      "LASTCALL_ASGI_PEEK_BYTES": "0",
                                      "LASTCALL_ASGI_HAND_OFF": "completions,other"})  # fmt: skip
    assert (given.admit, given.peek_bytes, given.hand_off) == (False, 0, ("completions", "other"))


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("ADMIT", "maybe", "'maybe': expected true or false"),
        ("CRITICAL", "very", "'very': expected true or false"),
        ("PEEK_BYTES", "1M", "'1M': expected a number of bytes"),
        ("OVERLOAD_STATUS", "500", "expected 503, 529 or 429"),
        ("PEEK_BYTES", "-1", "expected a number of bytes"),
        ("ENDPOINTS", "/mine", "'/mine': expected /path=endpoint"),
        ("ENDPOINTS", "mine=own", "'mine': expected a path that begins with '/'"),
        ("IGNORE", "/reset,admin/*", "'admin/\\*': expected a path that begins with '/'"),
        ("HAND_OFF", "decode", "'decode': expected one of chat_completions"),
    ],
)
def test_a_bad_variable_is_named_before_the_server_starts(monkeypatch, name, value, expected):
    monkeypatch.setenv(f"LASTCALL_ASGI_{name}", value)
    with pytest.raises(ValueError, match=expected) as raised:
        Middleware(echo)
    assert str(raised.value).startswith(f"lastcall.asgi: LASTCALL_ASGI_{name}: ")


def test_one_text_is_no_list_of_ignored_paths():
    with pytest.raises(ValueError, match=r"^ignore: 'a': expected a path"):  # "*" would match all
        Options(ignore="/admin/*")


def test_endpoints_are_registered_before_the_first_request(supervisor, client):
    middleware = wrap(quiet, client, hand_off=("completions",), endpoints={"/mine": "own"})
    run(lambda: middleware({"type": "lifespan"}, None, None))
    supervisor.wait("endpoint.register", endpoint="own")
    supervisor.wait("endpoint.register", endpoint="other")
    flags = {each["endpoint"]: each["graceful_shutdown"]
             for each in supervisor.all("endpoint.register")}  # fmt: skip
    assert flags.pop("completions") is False and all(flags.values())


@pytest.fixture
def connected_by(monkeypatch, path):
    """Variables of a process that has not connected yet."""
    clients = []

    def set_up(**variables):
        monkeypatch.setattr("lastcall.shared._shared", None)
        for name, value in {"LASTCALL_SOCKET": path, **variables}.items():
            monkeypatch.setenv(name, value)
        return lambda **options: clients.append(lastcall.connect(**options))

    yield set_up
    for client in [*clients, lastcall.connect()]:
        client.close()


@pytest.mark.parametrize("value", ["true", "false"])
def test_its_process_is_critical_if_the_environment_sets_it(supervisor, connected_by, value):
    connected_by(LASTCALL_ASGI_CRITICAL=value)
    lifespan = Middleware(quiet)({"type": "lifespan"}, None, None)
    run(lambda: lifespan)
    assert supervisor.wait("hello")["critical"] is (value == "true")


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm", "json"])
def test_its_process_is_critical_where_it_serves_an_engine_of_several_processes(
    supervisor, connected_by, monkeypatch, engine
):
    monkeypatch.setitem(sys.modules, engine, sys.modules["json"])
    connected_by()
    lifespan = Middleware(quiet)({"type": "lifespan"}, None, None)
    run(lambda: lifespan)
    assert supervisor.wait("hello")["critical"] is (engine != "json")


def test_its_process_stays_as_it_was_connected_before(supervisor, connected_by, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", sys.modules["json"])
    connected_by()(name="mine")
    lifespan = Middleware(quiet)({"type": "lifespan"}, None, None)
    run(lambda: lifespan)
    hello = supervisor.wait("hello")
    assert (hello["name"], hello["critical"]) == ("mine", False)


def test_a_client_that_was_connected_otherwise_is_named_at_the_start(supervisor, connected_by):
    sent = []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    connected_by(LASTCALL_ASGI_CRITICAL="true")(name="mine")
    run(lambda: Middleware(quiet)({"type": "lifespan"}, receive, send))
    [message] = sent
    assert message["type"] == "lifespan.startup.failed"
    assert "is connected with {'name': 'mine'} already" in message["message"]


def test_a_server_without_asyncio_is_refused_at_its_start(supervisor, client):
    sent = []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    with pytest.raises(StopIteration):  # the coroutine runs to its end without any event loop
        wrap(quiet, client)({"type": "lifespan"}, receive, send).send(None)
    [message] = sent
    assert message["type"] == "lifespan.startup.failed" and "asyncio" in message["message"]


async def quiet(scope, receive, send):
    pass


@pytest.mark.parametrize("scope", [
    {"type": "websocket", "path": "/v1/realtime"},
    {"type": "lifespan"},
    {"type": "http", "method": "GET", "path": "/metrics"},
])  # fmt: skip
def test_untracked_calls_pass_untouched(supervisor, client, scope):
    seen = []

    async def app(*arguments):
        seen.append(arguments)

    receive, send = object(), object()
    run(lambda: wrap(app, client)(scope, receive, send))
    assert seen[0][0] is scope and seen[0][1] is receive and seen[0][2] is send
    eventually(lambda: client.connected)
    client.begin("last").end()
    supervisor.wait("request.end")
    assert len(supervisor.all("request.begin")) == 1


def test_without_a_supervisor_the_application_gets_what_the_server_gives():
    seen = []

    async def app(*arguments):
        seen.append(arguments)

    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": []}
    receive, send = object(), object()
    middleware = wrap(app, lastcall.Client("x", socket=""))
    run(lambda: middleware(scope, receive, send))
    assert seen[0][0] is scope and seen[0][1] is receive and seen[0][2] is send


def test_without_admission_a_request_does_not_wait(supervisor, client):
    async def main():
        server = Server(wrap(echo, client, admit=False), x_request_id="r")
        assert await asyncio.wait_for(server.start().ends(), 20) is None
        assert server.status == 200

    eventually(lambda: client.connected)
    supervisor.admit = False
    run(main)
    assert "admit" not in supervisor.wait("request.begin", id="r")


def test_a_mounted_application_knows_its_paths(supervisor, client):
    async def main():
        server = Server(wrap(echo, client), path="/api/v1/completions")
        server.scope["root_path"] = "/api"
        assert await server.start().ends() is None

    eventually(lambda: client.connected)
    run(main)
    assert supervisor.wait("request.begin")["endpoint"] == "completions"
