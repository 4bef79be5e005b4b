"""An OpenAI-like server that knows nothing of lastcall but the line that adds the middleware.

/seen reports what became of the answers: how many were finished, and how many the engine let go of.
"""

import asyncio
import os
import sys

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, StreamingResponse

import lastcall
import lastcall.asgi
from lastcall import asgi_messages

if os.environ.get("ASGI_ENGINE_HAS_A_CORE"):
    sys.modules["vllm"] = sys.modules[__name__]
    asgi_messages.HELD_FOR = 3600.0  # so that only somebody's word ends a hold

app = FastAPI()
app.add_middleware(lastcall.asgi.Middleware)
seen = {"finished": 0, "let_go": 0}
running = set()


async def generate(tokens):
    """The engine: a request that closes this gives its slot back."""
    finished = False
    try:
        for number in range(tokens):
            yield f"data: token{number}\n\n"
            await asyncio.sleep(0.01)
        yield "data: [DONE]\n\n"
        finished = True
    finally:
        seen["finished" if finished else "let_go"] += 1


async def unless_disconnected(request, work):
    """How vLLM cancels a unary request: it listens for the client's leaving.

    A cancel of the task that waits here leaves the work running.
    """

    async def listen():
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, listening = asyncio.ensure_future(work), asyncio.ensure_future(listen())
    done, _ = await asyncio.wait({working, listening}, return_when=asyncio.FIRST_COMPLETED)
    if listening in done:
        working.cancel()
        seen["let_go"] += 1


@app.post("/v1/chat/completions")
@app.post("/v1/completions")
async def complete(request: Request):
    body = await request.json()
    if body.get("stream"):
        return StreamingResponse(generate(body["max_tokens"]), media_type="text/event-stream")
    if body["max_tokens"] > 1000:
        await unless_disconnected(request, asyncio.sleep(3600))
    return {"model": body["model"], "text": "token0"}


@app.post("/late")
async def late(request: Request):
    """Its engine announces the request 20 ms after its client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    running.add(asyncio.ensure_future(announce_late(request.headers["x-request-id"])))


async def announce_late(request_id):
    await asyncio.sleep(0.02)
    async with lastcall.connect().request(request_id, endpoint="generate") as context:
        await context.stopped()
    seen["let_go"] += 1


dead = False


@app.get("/health")
def health():
    return JSONResponse({}, 503 if dead else 200)


@app.post("/fail")
async def fail(request: Request):
    """As vLLM's server when its core has died, or when something else went wrong."""
    global dead
    body = await request.json()
    dead = body["dead"]

    async def events():
        yield b"data: token0\n\n"
        yield b'data: {"error":{"message":"the core says nothing","code":500}}\n\n'
        yield b"data: [DONE]\n\n"

    if body["stream"]:
        return StreamingResponse(events(), media_type="text/event-stream")
    return JSONResponse({"error": "the core says nothing"}, 500)


@app.get("/seen")
def report_seen():
    return seen


@app.get("/boom")
async def boom():
    raise RuntimeError("boom")
