"""An ASGI server of a few lines, and applications for it."""

import asyncio
import json

from lastcall.asgi import Middleware
from lastcall.asgi_options import Options
from strict_supervisor import eventually

PATIENCE = 20
CHAT = {"model": "m", "stream": True}


class Server:
    """Hands messages to an application and keeps what it sends."""

    def __init__(self, app, path="/v1/chat/completions", *, body=CHAT, method="POST", **headers):
        self.app = app
        data = body if isinstance(body, (bytes, list)) else json.dumps(body).encode()
        self.pieces = data if isinstance(data, list) else [data]
        headers.setdefault("content_type", "application/json")
        self.scope = {
            "type": "http", "method": method, "path": path, "root_path": "",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "headers": [(name.replace("_", "-").encode(), value.encode())
                        for name, value in headers.items()],
        }  # fmt: skip
        self.incoming = asyncio.Queue()
        self.sent = []
        self.changed = asyncio.Event()
        for number, piece in enumerate(self.pieces, 1):
            more = number < len(self.pieces)
            self.incoming.put_nowait({"type": "http.request", "body": piece, "more_body": more})

    async def send(self, message):
        self.sent.append(message)
        self.changed.set()

    def start(self):
        self.task = asyncio.ensure_future(self.app(self.scope, self.incoming.get, self.send))
        return self

    async def starts(self):
        await self._until(lambda: self.sent)

    async def sends(self, text):
        await self._until(lambda: text in self.body)

    async def _until(self, holds):
        while not holds():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE)

    async def ends(self):
        await asyncio.wait({self.task}, timeout=PATIENCE)
        return self.task.exception()

    def leave(self):
        self.incoming.put_nowait({"type": "http.disconnect"})

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def is_complete(self):
        last = self.sent[-1]
        return last["type"] == "http.response.body" and not last.get("more_body", False)

    def header(self, name):
        return dict(self.sent[0]["headers"]).get(name.encode())

    def error(self):
        return json.loads(self.body.rpartition(b"data: ")[2])["error"]


def run(main):
    async def bounded():
        await asyncio.wait_for(main(), 2 * PATIENCE)

    asyncio.run(bounded())


async def read_all(receive):
    pieces = []  # a sum of them would copy what has come with each, gigabytes of a long upload
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message["body"])
        if not message["more_body"]:
            return b"".join(pieces)


async def answer(send, *pieces, kind=b"application/json", status=200, end=True):
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", kind)]})  # fmt: skip
    for number, piece in enumerate(pieces, 1):
        more = number < len(pieces) or not end
        await send({"type": "http.response.body", "body": piece, "more_body": more})


async def echo(scope, receive, send):
    await answer(send, await read_all(receive))


async def stream_until_left(scope, receive, send):
    """What a well-behaved engine does with a stream."""
    await answer(send, b"data: one\n\n", kind=b"text/event-stream", end=False)
    await read_all(receive)
    assert (await receive())["type"] == "http.disconnect"


async def hang(scope, receive, send):
    await read_all(receive)
    await receive()


class UntilDisconnect:
    """An application that runs its work in a task of its own, as vLLM does with unary requests.

    Only `http.disconnect` ends the work: to cancel what waits for it leaves it running.
    """

    def __init__(self):
        self.working = asyncio.Event()
        self.work = None

    async def __call__(self, scope, receive, send):
        await read_all(receive)
        self.work = asyncio.ensure_future(self._generate())
        listens = asyncio.ensure_future(self._listen(receive))
        try:
            done, _ = await asyncio.wait({self.work, listens}, return_when="FIRST_COMPLETED")
            if listens in done:
                self.work.cancel()
            await answer(send, b"null" if listens in done else b"42")
        finally:
            listens.cancel()

    async def _generate(self):
        self.working.set()
        await asyncio.sleep(3600)

    async def _listen(self, receive):
        while (await receive())["type"] != "http.disconnect":
            pass


def leaves_while_it_waits(supervisor, client, make_server):
    """A client of request `r` that waits for admission, and is gone before the answer."""

    async def main():
        server = make_server().start()
        await asyncio.to_thread(supervisor.wait, "request.begin")
        server.leave()
        assert await server.ends() is None
        assert server.sent == [] and client.in_flight == 0

    eventually(lambda: client.connected)
    supervisor.admit = False
    run(main)
    assert supervisor.wait("request.end", id="r")["outcome"] == "cancelled"


def wrap(app, client, **options):
    return Middleware(app, client=client, options=Options(**options))
