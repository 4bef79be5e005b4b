"""The caller of that worker. On standard input `.` begins a request and `c` cancels the oldest.

On standard output a byte once the worker is there and for each begin, and for each cancel the
instant before it.
"""

import asyncio
import os
import struct
import time

from dynamo.runtime import Context, DistributedRuntime


async def begin(client, live):
    context = Context()
    stream = (await client.generate({}, context=context)).__aiter__()
    await stream.__anext__()
    live.append((context, stream))
    os.write(1, b".")


def cancel(context):
    at = time.monotonic_ns()
    context.stop_generating()
    os.write(1, struct.pack("q", at))


async def read_out(stream):
    try:
        async for _ in stream:
            pass
    except Exception:  # noqa: BLE001, S110: a stream that was stopped ends as Dynamo has it
        pass


async def main():
    loop = asyncio.get_running_loop()
    runtime = DistributedRuntime(loop, "file", "tcp", event_plane="zmq")
    client = await runtime.endpoint("bench.backend.generate").client()
    await client.wait_for_instances()
    words, live, ending = asyncio.Queue(), [], []
    loop.add_reader(0, lambda: words.put_nowait(os.read(0, 4096)))
    os.write(1, b".")
    while read := await words.get():
        for word in read:
            if word == ord("."):
                await begin(client, live)
            else:
                context, stream = live.pop(0)
                cancel(context)
                ending.append(asyncio.create_task(read_out(stream)))


asyncio.run(main())
