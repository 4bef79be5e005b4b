"""Streams of the Python package `openai`, all at once: PORT FOLDER-WITH-THE-PACKAGE COUNT TOKENS.

Says `begun` when each has a part of its answer, and at the end what each has, as JSON.
"""

import asyncio
import json
import sys

port, folder, count, tokens = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.path.insert(0, f"{folder}/site")

from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: E402


async def stream(client, number, begun):
    got = {"text": "", "ids": [], "finishes": [], "usage": [], "error": None}
    try:
        events = await client.chat.completions.create(
            model="sim", stream=True, max_tokens=tokens, stream_options={"include_usage": True},
            messages=[{"role": "user", "content": f"user {number}"}],
        )  # fmt: skip
        async for event in events:
            got["usage"] += [event.usage.completion_tokens] if event.usage else []
            if not event.choices:  # that of the usage
                continue
            choice = event.choices[0]
            got["text"] += choice.delta.content or ""
            got["ids"] = sorted({*got["ids"], event.id})
            got["finishes"] += [choice.finish_reason] if choice.finish_reason else []
            if len(got["text"]) > 10:
                begun(number)
    except Exception as error:  # any error that a user would see
        got["error"] = repr(error)
    return got


async def main():
    waiting = set(range(count))

    def begun(number):
        if waiting:
            waiting.discard(number)
            if not waiting:
                print("begun", flush=True)

    async with AsyncOpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0, timeout=120,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
    ) as client:  # fmt: skip
        answers = [stream(client, number, begun) for number in range(count)]
        print(json.dumps(await asyncio.gather(*answers)))


asyncio.run(main())
