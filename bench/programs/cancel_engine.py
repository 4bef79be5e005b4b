"""As `bench_cancel engine`, with the asyncio SDK for Python: SOCKET NAME."""

import asyncio
import os
import struct
import sys
import time

import lastcall


async def request(client, name, number, end):
    async with client.request(f"{name}-{number}", endpoint="generate",
                              root=f"round-{number}") as context:  # fmt: skip
        await context.stopped()
        os.write(1, struct.pack("q", time.monotonic_ns()))
        await end.wait()


async def main(path, name):
    client = lastcall.Client(name, socket=path)
    read = asyncio.Queue()
    asyncio.get_running_loop().add_reader(0, lambda: read.put_nowait(os.read(0, 4096)))
    number, live, end = 0, [], asyncio.Event()
    while words := await read.get():
        for word in words:
            if word == ord("e"):
                end.set()
                await asyncio.gather(*live)
                live, end = [], asyncio.Event()
            else:
                live.append(asyncio.create_task(request(client, name, number, end)))
                number += 1


asyncio.run(main(*sys.argv[1:]))
