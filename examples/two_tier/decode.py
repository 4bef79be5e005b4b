"""The first tier: answers clients, and has a second one compute what it starts from.

    PREFILL_URL=http://127.0.0.1:8101 python3 -m uvicorn decode:app --port 8100

What makes a cancel reach the other tier is marked (1) and (2).
"""

import asyncio
import json
import os
import sys

import httpx
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

import lastcall
import lastcall.asgi
import lastcall.httpx

PREFILL_URL = os.environ.get("PREFILL_URL", "http://127.0.0.1:8101")

app = FastAPI()
# (1) Sees the client leave and the supervisor cancel, and stops the request's context.
app.add_middleware(lastcall.asgi.Middleware)
prefill = httpx.AsyncClient(timeout=None)


@app.post("/v1/completions")
async def complete(request: Request):
    answer = generate(await request.json())
    return StreamingResponse(answer, media_type="text/event-stream")


async def generate(body):
    tokens = 0
    finished = False
    try:
        # (2) Sends the ids along, and ends the call when the context stops: its connection closes,
        # and that is how the other tier is notified.
        async with lastcall.httpx.stream(
            prefill, "POST", f"{PREFILL_URL}/prefill", json=body
        ) as blocks:
            async for block in blocks.aiter_lines():
                yield event(prefilled=json.loads(block)["block"])
        for tokens in range(1, body.get("max_tokens", 16) + 1):
            await asyncio.sleep(0.01)
            yield event(text=f"token{tokens} ")
        yield "data: [DONE]\n\n"
        finished = True
    finally:
        word = "finished" if finished else "stopped"
        sys.stderr.write(f"decode: {word} after {tokens} tokens\n")


def event(**content):
    return f"data: {json.dumps(content)}\n\n"


@app.get("/health")
def health():
    return {}
