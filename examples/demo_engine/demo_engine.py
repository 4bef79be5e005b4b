#!/usr/bin/env python3
"""A small OpenAI-compatible server that takes part in its own clean stop.

    python3 demo_engine.py [--port 8000] [--tokens 50] [--rate 20]

The whole use of lastcall is in the six places marked (1) to (6). Everything else is what any
streaming server has. Without lastcall around it (LASTCALL_SOCKET unset) it runs just the same.
"""

import argparse
import asyncio
import json
import re
import signal
import sys
from pathlib import Path

# This line is not needed once the SDK is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

import lastcall  # noqa: E402

# (1) One client a process. It connects in the background, for ever, and never blocks the engine.
client = lastcall.connect("demo-engine")

# (2) What a drain should do with running requests: wait for chats to end, hand completions off to
#     another replica at the end of the drain.
client.register_endpoint("chat_completions", graceful_shutdown=True)
client.register_endpoint("completions", graceful_shutdown=False)

ENDPOINTS = {"/v1/chat/completions": "chat_completions", "/v1/completions": "completions"}


# (3) Asked while it serves, if the config has an `ipc` check; an exception would mean "dead".
@client.on_health
def health():
    return "healthy"


def say(text):
    """One write a line, so that no line of the supervisor comes between its words and its end."""
    sys.stderr.write(f"demo-engine: {text}\n")


# (4) Called when nothing is in flight any more: free what outlives the process.
@client.on_cleanup
def cleanup(seconds_left):
    say(f"cleaning up, {seconds_left:.1f} s left")


async def generate(given, tokens, rate, context):
    """The model: one word per token time, a function of its place in the answer.

    A stop ends the wait at once, not at the next token.
    """
    for number in range(len(given.split()), len(given.split()) + tokens):
        try:
            await asyncio.wait_for(context.stopped(), 1 / rate)
            return
        except asyncio.TimeoutError:
            joint = " " if given and not given.endswith(" ") else ""
            given = ""
            yield f"{joint}word{number} "


async def complete(options, path, headers, body, reader, writer):
    """One streamed answer."""
    given = headers.get("x-request-id")
    request_id = given if given and client.find(given) is None else None
    # (5) In flight from here until the block ends, which is after the last byte was written. A
    # drain does not admit it: `handle` reports that to the client.
    async with client.request(request_id, endpoint=ENDPOINTS[path], admit=True) as context:
        hang_up = asyncio.ensure_future(watch_client(reader, context))
        tokens = int(body.get("max_tokens", options.tokens))
        given = begun(path, body)
        events_sent = bytes_sent = 0
        try:
            start_stream(writer, context.id())
            async for text in generate(given, tokens, options.rate, context):
                usage = usage_of(body, given, events_sent + 1)
                event = chunk(path, context.id(), text, usage=usage)
                await send(writer, event)
                context.progress()
                events_sent, bytes_sent = events_sent + 1, bytes_sent + len(event)
            if not context.is_stopped():
                await send(writer, chunk(path, context.id(), "", finish="length",
                                         usage=usage_of(body, given, events_sent)))
                await send(writer, b"data: [DONE]\n\n")
                writer.write(b"0\r\n\r\n")
            # (6) Cut short: never let it look finished. No [DONE], no final chunk.
            elif context.reason != "client_disconnect":
                kind = lastcall.Cancelled(context.id(), context.cause).kind
                await send(writer, lastcall.sse_error(
                    kind, context.id(), events_sent=events_sent, bytes_sent=bytes_sent))
            await writer.drain()
        except ConnectionError:
            context.kill(reason="client_disconnect")
        finally:
            hang_up.cancel()


async def watch_client(reader, context):
    """A client that goes away stops its request: the rest would not be read."""
    await reader.read(1)  # returns when the connection ends; pipelining is not for this demo
    context.kill(reason="client_disconnect")


# --- the interface of OpenAI, as far as a router in front needs it


def begun(path, body):
    """The part of the answer that the request has already, to go on after it."""
    text = body.get("prompt")
    if path != "/v1/completions":
        last = (body.get("messages") or [{}])[-1]
        text = last.get("content") if body.get("continue_final_message") else ""
    found = re.search(r"word0( word[0-9]+)* ?$", text) if isinstance(text, str) else None
    return found.group() if found else ""


def words_of(text):
    return len(text.split()) if isinstance(text, str) else 0


def usage_of(body, given, done):
    """The counts of an event, where the request asks for them: they show what was read of it."""
    if not (body.get("stream_options") or {}).get("continuous_usage_stats"):
        return None
    asked = body.get("prompt")
    prompt = sum(words_of(each.get("content")) for each in body.get("messages") or [])
    if isinstance(asked, str):  # where the prompt ends within a word, the answer starts a new one
        prompt += words_of(asked.removesuffix(given)) + words_of(given)
    return {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": prompt + done}


def chunk(path, request_id, text, finish=None, usage=None):
    if path == "/v1/completions":
        kind, content = "text_completion", {"text": text}
    else:
        kind, content = "chat.completion.chunk", {"delta": {"content": text}}
    choice = {"index": 0, **content, "finish_reason": finish}
    body = {"id": request_id, "object": kind, "model": "demo", "choices": [choice]}
    body |= {"usage": usage} if usage else {}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


# --- from here on: plain HTTP


def start_stream(writer, request_id):
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
        b"Transfer-Encoding: chunked\r\nX-Request-Id: %b\r\n\r\n" % request_id.encode()
    )


async def send(writer, data):
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()


def answer(writer, status, body):
    text = json.dumps(body).encode()
    writer.write(
        b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (status, len(text), text)
    )


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers = {name.strip().lower(): value.strip()
               for name, value in (line.split(":", 1) for line in lines)}
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def handle(options, reader, writer):
    """One request a connection."""
    try:
        method, path, headers, text = await read_request(reader)
        if (method, path) == ("GET", "/health"):
            answer(writer, b"200 OK", {"status": "ok"})
        elif method == "POST" and path in ENDPOINTS:
            await complete(options, path, headers, json.loads(text or b"{}"), reader, writer)
        else:
            answer(writer, b"404 Not Found", {"error": {"message": f"no {method} {path}"}})
    except lastcall.Rejected as refusal:
        answer(writer, b"503 Service Unavailable",
               lastcall.error_body(refusal.kind, refusal.request_id))
    except ValueError as error:
        answer(writer, b"400 Bad Request", {"error": {"message": str(error)}})
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(options):
    running = set()

    async def track(reader, writer):
        running.add(asyncio.current_task())
        try:
            await handle(options, reader, writer)
        finally:
            running.discard(asyncio.current_task())

    server = await asyncio.start_server(track, options.host, options.port, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    say(f"listening on {options.host}:{port}")

    # With lastcall around the engine this comes last, when the drain is over; without it, this is
    # the drain.
    asked_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_stop.set)
    await asked_to_stop.wait()
    server.close()
    if running:
        await asyncio.wait(running)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a small OpenAI-compatible server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=50, help="per answer, without max_tokens")
    parser.add_argument("--rate", type=float, default=20.0, help="tokens per second")
    asyncio.run(main(parser.parse_args()))
