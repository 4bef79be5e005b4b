"""The examples of README.md, as they are written there."""

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest
from asgi_server import Server, run, wrap
from strict_supervisor import eventually

import lastcall

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(SDK, "README.md"), encoding="utf-8") as file:
    README = file.read()


def block(words):
    """The only example in Python that has these words."""
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    [found] = [text for text in blocks if words in text]
    return found


class Engine:
    """Makes words, and after `ready` of them waits."""

    def __init__(self, ready=3, waits=False):
        self.ready, self.waits = ready, waits

    async def generate(self, request):
        for number in range(self.ready):
            yield f"word{number}"
        while self.waits:
            await asyncio.sleep(0)
            if self.ready:
                yield "more"


class Response:
    def __init__(self, leaves=False):
        self.written, self.refused, self.end, self.leaves = [], None, None, leaves

    async def write(self, data):
        assert isinstance(data, bytes) and data.endswith(b"\n\n")
        if self.leaves and self.written:
            raise ConnectionResetError
        self.written.append(data)

    async def finish(self):
        self.end = "finished"

    async def refuse(self, status, body):
        self.refused = status, json.loads(json.dumps(body))["error"]

    def break_off(self):
        self.end = "broken"


@pytest.fixture
def answer(client):
    """`answer` of the page around `generate` of the page."""

    def make(engine):
        names = {"lastcall": lastcall, "client": client, "engine": engine, "Response": Response}
        exec(block("@client.endpoint(").split("\nasync for")[0], names)
        exec(block("async def answer("), names)
        return names["answer"]

    eventually(lambda: client.connected)
    return make


def once(action, condition):
    async def wait():
        while not condition():
            await asyncio.sleep(0)
        action()

    return wait()


def test_an_answer_that_is_whole(supervisor, answer):
    response = Response()
    run(lambda: answer(Engine())(response, None, "r"))
    assert response.written[0] == b"data: word0\n\n" and response.end == "finished"
    assert response.written[-1] == b"data: [DONE]\n\n" and response.refused is None
    assert supervisor.wait("request.begin")["admit"] is True
    assert supervisor.wait("request.end")["outcome"] == "completed"


def test_an_answer_that_is_cut(supervisor, answer):
    response = Response()

    async def main():
        cut = once(lambda: supervisor.cancel("r", reason="migrate"), lambda: response.written)
        await asyncio.gather(answer(Engine(waits=True))(response, None, "r"), cut)

    run(main)
    *events, last = response.written
    error = json.loads(last.partition(b"data: ")[2])["error"]
    assert last.startswith(b"event: error\n") and response.end == "broken"
    assert error == {**error, "type": "migrated", "reason": "migrate", "retryable": True,
                     "events_sent": len(events), "bytes_sent": len(b"".join(events))}  # fmt: skip


def test_an_answer_that_is_cut_before_its_first_byte(supervisor, client, answer):
    response = Response()

    async def main():
        cut = once(lambda: supervisor.cancel("r", mode="kill", reason="operator"),
                   lambda: client.in_flight)  # fmt: skip
        await asyncio.gather(answer(Engine(0, waits=True))(response, None, "r"), cut)

    run(main)
    status, error = response.refused
    assert (status, error["type"], error["reason"]) == (499, "cancelled", "operator")
    assert response.written == [] and response.end is None


def test_an_answer_that_is_refused(supervisor, client, answer):
    response = Response()
    supervisor.admit = False

    async def main():
        refuse = once(lambda: supervisor.send("rejected", id="r", reason="draining"),
                      lambda: supervisor.all("request.begin"))  # fmt: skip
        await asyncio.gather(answer(Engine())(response, None, "r"), refuse)

    run(main)
    status, error = response.refused
    assert (status, error["type"], error["reason"]) == (503, "draining", "draining")


def test_a_client_that_leaves_such_an_answer(supervisor, answer):
    async def main():
        with pytest.raises(ConnectionResetError):
            await answer(Engine(waits=True))(Response(leaves=True), None, "r")

    run(main)
    assert supervisor.wait("cancel")["reason"] == "client_disconnect"
    assert supervisor.wait("request.end")["outcome"] == "cancelled"


def test_the_table_of_reasons_is_the_codes():
    rows = re.findall(r"^\| `(Cancelled|Rejected)` \| (.*?) \| `(\w+)` \| (\d+) \| (.*?) \|$",
                      README, re.MULTILINE)  # fmt: skip
    seen = {"Cancelled": set(), "Rejected": set()}
    for name, reasons, kind, status, again in rows:
        for reason in re.findall(r"`(\w+)`", reasons):
            seen[name].add(reason)
            assert getattr(lastcall, name)("r", reason).kind == kind
        error = lastcall.error_body(kind, "r")["error"]
        assert (error["code"], error["retryable"]) == (int(status), again == "yes")
    assert seen == {"Cancelled": lastcall.wire.REASONS, "Rejected": lastcall.wire.REFUSALS}


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_unary_answer_that_looks_whether_anybody_wants_it(supervisor, client, is_cut):
    fastapi = pytest.importorskip("fastapi")
    embedded = []

    async def embed(text):
        embedded.append(text)
        if is_cut and text == "2":
            supervisor.cancel("r", reason="operator")
            await lastcall.current().stopped()
        return [0.5]

    app = fastapi.FastAPI()
    names = {"app": app, "Request": fastapi.Request, "lastcall": lastcall, "embed": embed}
    exec(block("/v1/embeddings"), names)

    async def main():
        # Without a supervisor there is no context to look at.
        outer = wrap(app, client) if is_cut else app
        body = {"input": ["1", "2", "3"]}
        server = Server(outer, "/v1/embeddings", body=body, x_request_id="r")
        server.scope.update(query_string=b"", scheme="http", server=("engine", 80))
        assert await server.start().ends() is None
        assert server.status == (499 if is_cut else 200)

    eventually(lambda: client.connected)
    run(main)
    assert embedded == (["1", "2"] if is_cut else ["1", "2", "3"])


def test_a_middleware_of_a_critical_process(supervisor, path, monkeypatch):
    starlette = pytest.importorskip("starlette.applications")
    monkeypatch.setattr("lastcall.shared._shared", None)
    monkeypatch.setenv("LASTCALL_SOCKET", path)
    exec(block("app.add_middleware(lastcall.asgi.Middleware, client="),
         {"app": starlette.Starlette(), "lastcall": lastcall})  # fmt: skip
    hello = supervisor.wait("hello")
    lastcall.connect().close()
    assert (hello["name"], hello["critical"]) == ("mine", True)


# --- whole servers


PLAIN = """
import sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/v1/completions")
async def complete():
    return {"arguments": sys.argv[1:]}
if __name__ == "__main__":
    uvicorn.run(%s, port=0)
"""
STREAMS = """
import asyncio
import lastcall
import uvicorn
from fastapi import FastAPI
from starlette.responses import StreamingResponse
app = FastAPI()
@lastcall.connect().endpoint("generate")
async def generate(request):
    while True:
        yield "data: word\\n\\n"
        await asyncio.sleep(0.01)
@app.post("/v1/completions")
async def complete():
    return StreamingResponse(generate(None, request_id="r"), media_type="text/event-stream")
uvicorn.run(app, port=0)
"""


@pytest.fixture
def serve(tmp_path, path):
    """Starts a server in a folder with wrap.py; returns the process."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    started = []

    def start(server, *command):
        (tmp_path / "wrap.py").write_text(block("runpy.run_path"))
        (tmp_path / "server.py").write_text(server)
        environment = {**os.environ, "PYTHONPATH": SDK, "LASTCALL_SOCKET": path}
        started.append(subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, env=environment, text=True,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ))  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def post(process):
    said = []
    for line in process.stderr:
        said.append(line)
        address = re.search(r"running on (http://\S+)", line)
        if address:
            request = urllib.request.Request(f"{address[1]}/v1/completions", b"{}")
            return urllib.request.urlopen(request, timeout=20)
    raise AssertionError("".join(said))


def test_a_server_that_runs_itself_is_wrapped_by_a_script(supervisor, serve):
    with post(serve(PLAIN % "app", "wrap.py", "server.py", "--its", "7")) as response:
        assert json.load(response) == {"arguments": ["--its", "7"]}
    assert supervisor.wait("request.begin")["endpoint"] == "completions"


def test_a_server_that_runs_its_application_by_name_cannot_be_wrapped(supervisor, serve):
    process = serve(PLAIN % "'server:app'", "wrap.py", "server.py")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and said.startswith("wrap.py: the application is run by its")


def test_a_client_that_leaves_a_streaming_response_is_counted_as_one(supervisor, serve):
    with post(serve(STREAMS, "server.py")) as response:
        assert response.readline() == b"data: word\n"
    assert supervisor.wait("cancel", timeout=20)["reason"] == "client_disconnect"
    assert supervisor.wait("request.end", timeout=20)["outcome"] == "cancelled"
