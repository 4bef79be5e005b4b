"""A worker of NVIDIA Dynamo. Its requests wait for their cancel, and report when it came."""

import asyncio
import os
import struct
import time

from dynamo.runtime import DistributedRuntime


async def generate(_, context):
    yield {"begun": True}
    await context.async_killed_or_stopped()
    os.write(1, struct.pack("q", time.monotonic_ns()))


async def main():
    loop = asyncio.get_running_loop()
    runtime = DistributedRuntime(loop, "file", "tcp", event_plane="zmq")
    await runtime.endpoint("bench.backend.generate").serve_endpoint(generate)


asyncio.run(main())
