"""An engine of NVIDIA Dynamo for the pauses of its streams: FOLDER of its model, words a second.

It makes one token, which is one word, at a time, after whatever the request holds: an answer that
moved goes on, and no time is taken by a prompt. It stops as Dynamo's own workers do.
"""

import asyncio
import sys

from dynamo.common.utils.graceful_shutdown import install_signal_handlers
from dynamo.llm import ModelInput, ModelType, WorkerType, register_model
from dynamo.llm.exceptions import EngineShutdown
from dynamo.runtime import DistributedRuntime

WORD = 1  # in the vocabulary of dynamo_fleet.py


async def main():
    folder, rate = sys.argv[1], float(sys.argv[2])
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    async def generate(request, context):  # noqa: ARG001: Dynamo looks for that name
        for _ in range(request["stop_conditions"]["max_tokens"]):
            await asyncio.sleep(1 / rate)
            if stopping.is_set():
                raise EngineShutdown("it stops")
            yield {"token_ids": [WORD]}

    runtime = DistributedRuntime(loop, "file", "tcp", event_plane="zmq")
    endpoint = runtime.endpoint("bench.backend.generate")
    install_signal_handlers(loop, runtime, [endpoint], stopping)
    await register_model(ModelInput.Tokens, ModelType.Chat, endpoint, folder, "demo",
                         worker_type=WorkerType.Aggregated, ignore_weights=True)  # fmt: skip
    await endpoint.serve_endpoint(generate, graceful_shutdown=False)


asyncio.run(main())
