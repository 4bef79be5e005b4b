#!/usr/bin/env python3
"""The lying engine: an OpenAI-compatible server that behaves as badly as its flags demand.

    engine.py --port P --trace FILE [flags, see --help]

A main process serves HTTP, and a *core* beside it generates: each of its ticks is one token of
every stream. So an engine can die or freeze in parts: without its core the server
still answers /health, as real ones do. Tokens are `t0 t1 t2 ...`, so a reader sees what is missing.

Serves POST /v1/completions and /v1/chat/completions (streams and unary), GET /health, /v1/models
and /metrics (vLLM's names). What happens goes to the trace as JSON lines with CLOCK_MONOTONIC
milliseconds: `listening`, `process` (pid and role of each process), `begin`, `first`, `end`,
`abort` (the client is gone, the request is no longer worked on), `signal` (by role), `exit`.

It needs only the standard library, unless --sdk is given, and has one thread besides the SDK's.
"""

import argparse
import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

WATCHED = ("TERM", "INT", "QUIT", "HUP", "USR1", "USR2")
PIECE = "t{} "


def options_of(arguments):
    parser = argparse.ArgumentParser(description="an engine that lies")
    add = parser.add_argument
    add("--port", type=int, required=True)
    add("--trace", required=True, help="file of JSON lines")
    add("--token-ms", type=int, default=50, help="milliseconds for one token of every stream")
    add("--prefill-ms", type=int, default=0, help="milliseconds from a request to its first token")
    add("--load-s", type=float, default=0,
        help="seconds without handler, port and core, as while a model loads")
    add("--on-term", default="exit",
        help="exit, ignore, or drain:SECONDS (as vLLM's --shutdown-timeout)")
    add("--exit-code", type=int, default=0, help="exit code after a TERM")
    add("--cut", choices=("close", "abort"), default="close",
        help="how a cut stream ends: closed, or with finish_reason 'abort'")
    add("--health", choices=("honest", "lie"), default="honest",
        help="lie: answers 200 without a core")
    add("--gauges", choices=("honest", "zero", "none"), default="honest")
    add("--answers", choices=("tokens", "nothing"), default="tokens",
        help="nothing: answers an empty 200")
    add("--workers", type=int, default=0, help="number of further children, which do nothing")
    add("--workers-are", choices=("children", "setsid", "daemons"), default="children",
        help="daemons: forked twice, so that the engine is not their parent")
    add("--daemons-live-s", type=float, default=3600)
    add("--sdk", action="store_true", help="participate through the Python package lastcall")
    add("--role", default="main", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


class Trace:
    def __init__(self, path):
        self._file = open(path, "a", buffering=1)  # noqa: SIM115

    def __call__(self, kind, **fields):
        at_ms = time.monotonic_ns() // 1_000_000
        self._file.write(json.dumps({"at_ms": at_ms, "event": kind, **fields}) + "\n")


def set_title(title):
    """Replaces the command line, as setproctitle does. See proc(5)."""
    with open("/proc/self/stat", encoding="latin-1") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    text = title.encode()[: end - start - 1]
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def child_main(options, trace):
    """A core ticks until its reader is gone; a worker waits until the main process ends."""
    core = options.role == "core"
    if core:
        set_title("VLLM::EngineCore")

    def on_signal(number, _):
        trace("signal", role=options.role, name=signal.Signals(number).name[3:])
        if number == signal.SIGTERM:
            os._exit(0)

    for name in WATCHED:
        signal.signal(getattr(signal, "SIG" + name), on_signal)
    trace("process", role=options.role, pid=os.getpid())
    next_at = time.monotonic()
    while core:
        try:
            os.write(1, b".")
        except BrokenPipeError:
            os._exit(0)
        next_at = max(next_at + options.token_ms / 1000, time.monotonic() - 1)
        time.sleep(max(0, next_at - time.monotonic()))
    sys.stdin.buffer.read()  # ends when the main process ends


class Request:
    def __init__(self, identity, tokens, stream):
        self.id, self.tokens, self.stream = identity, tokens, stream
        self.done, self.ticked, self.broken, self.gone = 0, asyncio.Event(), None, False
        self.starts_at = 0.0


class Engine:
    def __init__(self, options, trace):
        self.options, self.trace = options, trace
        self.running, self.generated, self.core_alive = {}, 0, False
        self.stopping, self.server, self.client = False, None, None
        self.count = 0

    async def live(self):
        loop = asyncio.get_running_loop()
        self.exited = loop.create_future()
        for name in WATCHED:
            loop.add_signal_handler(getattr(signal, "SIG" + name), self.on_signal, name)
        self.trace("process", role="main", pid=os.getpid())
        self.start_children(loop)
        if self.options.sdk:
            import lastcall

            self.sdk = lastcall
            self.client = lastcall.connect("kit-engine")
            self.client.register_endpoint("generate")
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.options.port,
                                                 backlog=512)  # fmt: skip
        self.trace("listening")
        code = await self.exited
        self.trace("exit", code=code)
        return code

    # --- the other processes

    def child(self, role, **how):
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--role", role]
        return subprocess.Popen(command, stdin=subprocess.PIPE, **how)

    def start_children(self, loop):
        self.core = self.child("core", stdout=subprocess.PIPE)
        self.core_alive = True
        os.set_blocking(self.core.stdout.fileno(), False)
        loop.add_reader(self.core.stdout, self.on_tick, loop)
        self.others = []
        for _ in range(self.options.workers):
            if self.options.workers_are == "daemons":
                self.daemon()
            else:
                session = self.options.workers_are == "setsid"
                self.others.append(self.child("worker", start_new_session=session))

    def daemon(self):
        """Forked twice, so that PID 1, whichever process that is, has to wait for it."""
        live = f"exec sleep {self.options.daemons_live_s}"
        subprocess.run(["/bin/sh", "-c", f"({live}) & exit 0"], start_new_session=True, check=True)

    def on_tick(self, loop):
        data = os.read(self.core.stdout.fileno(), 65536)
        if not data:
            loop.remove_reader(self.core.stdout)
            self.core_alive = False
            self.trace("core_gone", code=self.core.wait())
            if self.options.health == "honest":  # a liar lets its clients wait for ever
                for request in self.running.values():
                    request.broken = "core"
                    request.ticked.set()
            return
        for request in list(self.running.values()):
            if loop.time() >= request.starts_at and request.done < request.tokens:
                request.done += 1  # however late the reader was: one batch is one step
                self.generated += 1
                request.ticked.set()

    # --- stopping

    def on_signal(self, name):
        self.trace("signal", role="main", name=name)
        if name not in ("TERM", "INT", "QUIT") or self.options.on_term == "ignore":
            return
        self.stopping = True
        how, _, seconds = self.options.on_term.partition(":")
        if how == "drain" and self.running:
            self.server.close()
            asyncio.get_running_loop().call_later(float(seconds), self.cut_all)
        else:
            self.cut_all()

    def cut_all(self):
        for request in self.running.values():
            request.broken = "stop"
            request.ticked.set()
        asyncio.get_running_loop().call_later(0.1 if self.running else 0, self.leave)

    def leave(self):
        if not self.exited.done():
            self.exited.set_result(self.options.exit_code)

    # --- HTTP

    async def serve(self, reader, writer):
        try:
            while await self.serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
            pass
        finally:
            writer.close()

    async def serve_one(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = path.partition("?")[0]
        if method == "POST" and path in ("/v1/completions", "/v1/chat/completions"):
            return await self.complete(reader, writer, headers, json.loads(body or b"{}"))
        if path == "/health":
            fine = self.core_alive or self.options.health == "lie"
            return await answer(writer, 200 if fine else 503, b"")
        if path == "/v1/models":
            return await answer(writer, 200, {"object": "list", "data": [{"id": "kit"}]})
        if path == "/metrics" and self.options.gauges != "none":
            return await answer(writer, 200, self.metrics().encode())
        return await answer(writer, 404, {"error": {"message": f"no {path}"}})

    def metrics(self):
        running = 0 if self.options.gauges == "zero" else len(self.running)
        tokens = 0 if self.options.gauges == "zero" else self.generated
        rows = (("num_requests_running", "gauge", running), ("num_requests_waiting", "gauge", 0),
                ("generation_tokens_total", "counter", tokens))  # fmt: skip
        return "".join(
            f"# TYPE vllm:{name} {kind}\nvllm:{name}{{model_name=\"kit\"}} {value}\n"
            for name, kind, value in rows
        )

    async def complete(self, reader, writer, headers, body):
        self.count += 1
        request = Request(headers.get("x-request-id", f"r{self.count}"),
                          int(body.get("max_tokens", 16)), bool(body.get("stream")))  # fmt: skip
        if self.options.answers == "nothing":
            return await answer(writer, 200, b"", LAST)
        if not self.core_alive and self.options.health == "honest":
            return await answer(writer, 500, {"error": {"message": "EngineDeadError"}}, LAST)
        loop = asyncio.get_running_loop()
        request.starts_at = loop.time() + self.options.prefill_ms / 1000
        key = object()
        watch = loop.create_task(self.watch(reader, request, asyncio.current_task()))
        try:
            if self.client is not None:
                return await self.with_sdk(writer, request, key)
            return await self.generate(writer, request, key, None)
        finally:
            watch.cancel()
            self.running.pop(key, None)
            if self.stopping and not self.running:
                self.leave()

    async def watch(self, reader, request, task):
        """A client that leaves ends its request: what follows on the connection is not read."""
        try:
            data = await reader.read(1)
        except ConnectionError:  # a reset
            data = b""
        if not data:
            request.gone = True
            request.ticked.set()
            if request not in self.running.values():
                task.cancel()  # it still waits for its admission

    async def with_sdk(self, writer, request, key):
        try:
            async with self.client.request(
                request.id, endpoint="generate", admit=True
            ) as context:
                return await self.generate(writer, request, key, context)
        except (self.sdk.Cancelled, self.sdk.Rejected) as cut:
            body = self.sdk.error_body(cut.kind, cut.request_id, reason=cut.reason)
            return await answer(writer, body["error"]["code"], body, {"Retry-After": "1", **LAST})

    async def generate(self, writer, request, key, context):
        self.running[key] = request
        self.trace("begin", id=request.id)
        sent, size = 0, 0
        if request.stream:
            writer.write(HEAD.format("text/event-stream").encode())
        while sent < request.tokens and not request.gone and not request.broken:
            if context is not None and context.is_stopped():
                break
            if sent >= request.done:
                request.ticked.clear()
                try:
                    await asyncio.wait_for(request.ticked.wait(), 0.1)
                except asyncio.TimeoutError:
                    continue
            while sent < min(request.done, request.tokens):
                if not sent:
                    self.trace("first", id=request.id)
                sent += 1
                if request.stream:
                    size += chunk(writer, event(request, PIECE.format(sent - 1), None))
                if context is not None:
                    context.progress()
            try:
                await writer.drain()
            except ConnectionError:
                request.gone = True
        return await self.finish(writer, request, context, sent, size)

    async def finish(self, writer, request, context, sent, size):
        if request.gone:
            self.trace("abort", id=request.id, sent=sent)
            if context is not None:
                context.kill(reason="client_disconnect")
            return False
        if sent < request.tokens and context is not None and context.is_stopped():
            self.trace("abort", id=request.id, sent=sent)
            if not request.stream:
                body = self.sdk.error_body("migrated", request.id, reason=context.cause)
                return await answer(writer, 503, body, {"Retry-After": "1", **LAST})
            chunk(writer, self.sdk.sse_error("migrated", request.id, events_sent=sent,
                                             bytes_sent=size, reason=context.cause))  # fmt: skip
            await writer.drain()
            return False
        whole = sent >= request.tokens
        self.trace("end" if whole else "cut", id=request.id, sent=sent)
        if not whole and self.options.cut == "close":
            return False
        reason = "length" if whole else "abort"
        if request.stream:
            chunk(writer, event(request, "", reason))
            chunk(writer, b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return False
        text = "".join(PIECE.format(n) for n in range(sent))
        choice = {"index": 0, "text": text, "finish_reason": reason}
        return await answer(writer, 200, {"id": request.id, "choices": [choice]}, LAST)


HEAD = ("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n"
        "Connection: close\r\n\r\n")  # fmt: skip


LAST = {"Connection": "close"}  # of an answer whose connection was watched for its client


def chunk(writer, data):
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    return len(data)


def event(request, text, reason):
    choice = {"index": 0, "text": text, "finish_reason": reason}
    return f"data: {json.dumps({'id': request.id, 'choices': [choice]})}\n\n".encode()


async def answer(writer, status, body, extra=()):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "text/plain; version=0.0.4" if isinstance(body, bytes) else "application/json"
    more = "".join(f"{name}: {value}\r\n" for name, value in dict(extra).items())
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{more}"
                 f"Content-Length: {len(data)}\r\n\r\n".encode() + data)  # fmt: skip
    await writer.drain()
    return "Connection" not in dict(extra)


def main():
    options = options_of(sys.argv[1:])
    trace = Trace(options.trace)
    if options.role != "main":
        return child_main(options, trace)
    if options.load_s:
        trace("process", role="main", pid=os.getpid())
        time.sleep(options.load_s)
    # The engine ends at once and cuts open connections, as one does that has to end.
    os._exit(asyncio.run(Engine(options, trace).live()))


if __name__ == "__main__":
    main()
