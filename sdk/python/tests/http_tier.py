"""A tier of its own: an ASGI application behind a server of a few lines, on a real port."""

import asyncio

from asgi_server import PATIENCE, answer, read_all

import lastcall


class Tier:
    """`async with` it; `url` is where it is. One request a connection."""

    def __init__(self, app):
        self.app = app
        self.requests = []  # (method, path, headers)

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        self.requests.append((method, path, headers))
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        scope = {
            "type": "http", "method": method, "path": path, "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        incoming = asyncio.Queue()
        incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})

        async def watch():
            while await reader.read(1024):
                pass
            incoming.put_nowait({"type": "http.disconnect"})

        async def send(message):
            if message["type"] == "http.response.start":
                lines = [f"HTTP/1.1 {message['status']} X", "Transfer-Encoding: chunked"]
                lines += [f"{n.decode()}: {v.decode()}" for n, v in message["headers"]
                          if n != b"content-length"]  # fmt: skip
                writer.write("\r\n".join([*lines, "", ""]).encode())
            elif message.get("body"):
                writer.write(b"%x\r\n%b\r\n" % (len(message["body"]), message["body"]))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                writer.write(b"0\r\n\r\n")
            await writer.drain()

        watching = asyncio.ensure_future(watch())
        try:
            await self.app(scope, incoming.get, send)
        except Exception:
            writer.transport.abort()  # as servers do: a break
        finally:
            watching.cancel()
            writer.close()


class Lower:
    """An engine of the tier below that streams until it has to end, and notes how."""

    def __init__(self):
        self.contexts = []
        self.ended = asyncio.Event()

    async def __call__(self, scope, receive, send):
        await read_all(receive)
        self.contexts.append(lastcall.current())
        try:
            await answer(send, b'data: {"n": 1}\n\n', kind=b"text/event-stream", end=False)
            assert (await receive())["type"] == "http.disconnect"
        finally:
            self.ended.set()


async def until(holds):
    """Waits for what another task does."""

    async def poll():
        while not holds():
            await asyncio.sleep(0)

    await asyncio.wait_for(poll(), PATIENCE)
