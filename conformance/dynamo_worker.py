#!/usr/bin/env python3
"""A worker of NVIDIA Dynamo in the shape of dynamo.vllm, whose engine is the kit's.

Runs in Dynamo's environment. Everything about stopping is Dynamo's own code: its signal handlers
(dynamo.common.utils.graceful_shutdown), its grace, its runtime. As in dynamo.vllm a request that
still runs when the grace is over is aborted with EngineShutdown. Takes the flags of engine.py and
honours --token-ms, --prefill-ms, --load-s and --trace.
"""

import asyncio
import os
import sys
import time

from dynamo.common.utils.graceful_shutdown import install_signal_handlers
from dynamo.common.utils.runtime import create_runtime
from dynamo.llm import ModelInput, ModelType, WorkerType, register_model
from dynamo.llm.exceptions import EngineShutdown

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engine import Trace, options_of  # noqa: E402


class Worker:
    def __init__(self, options, trace, shutdown):
        self.options, self.trace, self.shutdown = options, trace, shutdown

    async def generate(self, request, context):
        name = request.get("request_id") or context.id()
        tokens = request["stop_conditions"].get("max_tokens") or 16
        self.trace("begin", id=name)
        if self.options.prefill_ms:
            await self._wait(self.options.prefill_ms / 1000, context)
        for number in range(tokens):
            await self._wait(self.options.token_ms / 1000, context)
            if self.shutdown.is_set():
                self.trace("cut", id=name, sent=number)
                raise EngineShutdown("the engine was shut down during generation")
            if context.is_stopped():
                self.trace("abort", id=name, sent=number)
                return
            if number == 0:
                self.trace("first", id=name)
            last = {"finish_reason": "length"} if number + 1 == tokens else {}
            yield {"token_ids": [300 + number % 1000], **last}
        self.trace("end", id=name, sent=tokens)

    async def _wait(self, seconds, context):
        """Until then, or until the request is cancelled or the engine shut down."""
        waits = [asyncio.ensure_future(context.async_killed_or_stopped()),
                 asyncio.ensure_future(self.shutdown.wait())]  # fmt: skip
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()


async def main(model):
    options = options_of(sys.argv[2:])
    trace = Trace(options.trace)
    trace("process", role="main", pid=os.getpid())
    time.sleep(options.load_s)
    shutdown = asyncio.Event()
    runtime, loop = create_runtime("file", "tcp", "zmq")
    endpoint = runtime.endpoint("dynamo.backend.generate")
    install_signal_handlers(loop, runtime, [endpoint], shutdown)
    await register_model(ModelInput.Tokens, ModelType.Chat | ModelType.Completions, endpoint, model,
                         model_name="kit", worker_type=WorkerType.Aggregated)  # fmt: skip
    trace("listening")
    await endpoint.serve_endpoint(Worker(options, trace, shutdown).generate,
                                  graceful_shutdown=True)  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
