"""As `bench_cancel engine`, with the asyncio SDK for Python: SOCKET NAME."""

import asyncio
import os
import struct
import sys
import time

import lastcall


async def main(path, name):
    client = lastcall.Client(name, socket=path)
    begins = asyncio.Queue()
    asyncio.get_running_loop().add_reader(0, lambda: begins.put_nowait(os.read(0, 1)))
    number = 0
    while await begins.get():
        async with client.request(f"{name}-{number}", endpoint="generate",
                                  root=f"round-{number}") as context:  # fmt: skip
            await context.stopped()
            os.write(1, struct.pack("q", time.monotonic_ns()))
        number += 1


asyncio.run(main(*sys.argv[1:]))
