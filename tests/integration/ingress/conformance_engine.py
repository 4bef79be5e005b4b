#!/usr/bin/env python3
"""An engine for real clients: the same answer to the same request, and what it saw of it.

    /usr/bin/python3 conformance_engine.py PORT
"""

import hashlib
import json
import sys

from aiohttp import web

LARGE = bytes(range(256)) * 4096
ROUTES = web.RouteTableDef()
STREAM = "text/event-stream; charset=utf-8"


def completion(body):
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": "one two three"}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}}  # fmt: skip


def piece(text):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
             "choices": [choice]}  # fmt: skip
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@ROUTES.get("/v1/models")
async def models(_):
    return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})


@ROUTES.post("/v1/chat/completions")
async def chat(request):
    body = await request.json()
    if body["model"] == "absent":
        error = {"message": "no such model", "type": "NotFoundError", "code": 404}
        return web.json_response({"error": error}, status=404)
    if not body.get("stream"):
        return web.json_response(completion(body))
    response = web.StreamResponse(headers={"Content-Type": STREAM, "X-Engine": "sim"})
    await response.prepare(request)
    for text in ("one ", "two ", "three"):
        await response.write(piece(text))
    if body["model"] == "breaks":
        request.transport.close()
        return response
    await response.write(b"data: [DONE]\n\n")
    return response


@ROUTES.route("*", "/echo")
async def echo(request):
    body = await request.read()
    return web.json_response({
        "method": request.method, "target": request.raw_path, "size": len(body),
        "digest": hashlib.sha256(body).hexdigest(), "host": request.headers.get("Host") is not None,
        "type": request.headers.get("Content-Type"), "key": request.headers.get("Authorization"),
        "twice": request.headers.getall("X-Twice", []),
        "added": sorted(name.lower() for name in request.headers
                        if name.lower().startswith(("x-forwarded", "forwarded", "x-request-id"))),
    })  # fmt: skip


@ROUTES.get("/large")
async def large(_):
    return web.Response(body=LARGE)


@ROUTES.get("/chunks")
async def chunks(request):
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for start in range(0, len(LARGE), 100_000):
        await response.write(LARGE[start : start + 100_000])
    return response


@ROUTES.get("/empty")
async def empty(_):
    return web.Response(status=204)


@ROUTES.get("/moved")
async def moved(_):
    return web.Response(status=307, headers={"Location": "/v1/models"})


@ROUTES.get("/two")
async def two(_):
    response = web.Response(text="two")
    response.headers.extend([("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
    return response


@ROUTES.post("/fails")
async def fails(request):
    await request.read()  # nginx closes without a word on a client that has sent more than was read
    return web.json_response({"error": {"message": "it broke"}}, status=500)


def main():
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes(ROUTES)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)


if __name__ == "__main__":
    main()
