"""The second tier: computes blocks for the first one, and receives a cancel only from it.

    python3 -m uvicorn prefill:app --port 8101
"""

import asyncio
import json
import sys

from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

import lastcall
import lastcall.asgi

app = FastAPI()
app.add_middleware(
    lastcall.asgi.Middleware,
    options=lastcall.asgi.Options(endpoints={"/prefill": "prefill"}),
)


@app.post("/prefill")
async def prefill(request: Request):
    answer = compute(await request.json())
    return StreamingResponse(answer, media_type="application/jsonl")


async def compute(body):
    block = 0
    finished = False
    try:
        for block in range(1, body.get("blocks", 4) + 1):
            await asyncio.sleep(0.01)
            yield json.dumps({"block": block}) + "\n"
        finished = True
    finally:
        context = lastcall.current()
        root = context.root if context else "a request"
        word = "finished" if finished else "stopped"
        sys.stderr.write(f"prefill: {root} {word} after {block} blocks\n")


@app.get("/health")
def health():
    return {}
