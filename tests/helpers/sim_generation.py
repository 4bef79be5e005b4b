"""The generating half of engine_sim: one token clock, and requests on their way through it.

Rules
  1. One timer drives all streams; a cancel or a client that hangs up wakes its stream at once.
  2. A cancelled request never looks finished: error event, no [DONE], no final chunk; before the
     first event a 503 with the same object.

Threads: one event loop.
"""

import asyncio
import json
import os
import re
import signal
import time
from collections import deque

from lastcall import Context, Rejected, error_body, sse_error
from sim_http import event


class TokenClock:
    """Wakes every waiting stream once per token interval, with one timer for all of them."""

    def __init__(self, rate):
        self.rate = rate
        self.paused = False
        self._waiting = set()
        self._timer = None
        self._due = 0.0

    async def tick(self, stream):
        stream.wake = asyncio.get_running_loop().create_future()
        self._waiting.add(stream)
        if self._timer is None:
            self._arm()
        await stream.wake

    def _arm(self):
        # Tokens follow the clock and not each other: a busy machine delays one token, and not all
        # that follow.
        loop = asyncio.get_running_loop()
        self._due = max(self._due + 1 / self.rate, loop.time())
        self._timer = loop.call_at(self._due, self._ring)

    def _ring(self):
        self._timer = None
        if not self.paused:
            waiting, self._waiting = self._waiting, set()
            for stream in waiting:
                stream.nudge()
        if self._waiting:
            self._arm()

    def forget(self, stream):
        self._waiting.discard(stream)


CORE_DIED = {"error": {"message": "EngineCore encountered an issue. See stack trace above for the "
                                  "root cause.", "type": "InternalServerError", "param": None,
                       "code": 500}}  # fmt: skip


def given_text(body, chat):
    """The part of the answer in the request: the text is `t0 t1 t2 ...`, whatever is asked."""
    if chat:
        last = (body.get("messages") or [{}])[-1]
        goes_on = body.get("continue_final_message") and last.get("role") == "assistant"
        return last.get("content") or "" if goes_on else ""
    prompt = body.get("prompt")
    found = re.search(r"t0( t[0-9]+)* ?$", prompt) if isinstance(prompt, str) else None
    return found.group() if found else ""


class Generation:
    """One request on its way through the engine."""

    def __init__(self, context, path, body, endpoint):
        self.context = context
        self.endpoint = endpoint
        self.chat = path.endswith("/chat/completions")
        self.model = body.get("model", "sim")
        self.max_tokens = int(body.get("max_tokens", 16))
        self.stream = bool(body.get("stream", False))
        options = body.get("stream_options") or {}
        self.usage = bool(options.get("include_usage"))
        self.tells_usage = self.usage and bool(options.get("continuous_usage_stats"))
        self.given = given_text(body, self.chat)  # of the answer, which goes on after it
        self.begins_at = len(self.given.split())
        self.text = json.dumps(body)
        self.rank = 0  # of two, where the engine has them
        self.done = 0  # tokens
        self.steps = 0  # of its prefill, but the last
        self.events_sent = self.bytes_sent = 0
        self.wake = None
        self.gone = self.head_is_out = False

    def nudge(self):
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)

    def chunk(self, text, finish=None):
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        content = {"delta": {"content": text} if text else {}} if self.chat else {"text": text}
        made = self._object(kind, [{"index": 0, **content, "finish_reason": finish}])
        return {**made, "usage": self.usage_object(bool(text))} if self.tells_usage else made

    def token(self):
        """The next one: a function of its position, so that a seam shows."""
        joint = " " if self.given and not self.done and not self.given.endswith(" ") else ""
        return f"{joint}t{self.begins_at + self.done} "

    def whole(self, finish="length"):
        text = "".join(f"t{number} " for number in range(self.done))
        kind = "chat.completion" if self.chat else "text_completion"
        message = {"role": "assistant", "content": text}
        content = {"message": message} if self.chat else {"text": text}
        answer = self._object(kind, [{"index": 0, **content, "finish_reason": finish}])
        return {**answer, "usage": self.usage_object()}

    def usage_object(self, more=0):
        prompt, done = 1 + self.begins_at, self.done + more
        return {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": done + prompt}

    def _object(self, kind, choices):
        return {"id": self.context.id(), "object": kind, "created": int(time.time()),
                "model": self.model, "choices": choices}  # fmt: skip


class Generator:
    """Takes completion requests. `options` may change at any moment; `client` may be None."""

    def __init__(self, options, trace, on_idle):
        self.options = options
        self.trace = trace
        self.on_idle = on_idle  # called after each request
        self.client = None
        self.clock = TokenClock(options.rate)
        self.running = {}  # id: Generation
        self.queue = deque()  # those that wait for a place
        self.core_is_dead = self.aborts = False
        self.tokens = self.tokens_ended = 0  # in all; of requests that are over
        self.accepted = 0  # from the first byte of the request on
        self.probes = 0
        self.probe_mark = None  # of the last
        self.core_free_at = [0.0, 0.0]  # of each rank
        self.stepped = [(0, 0), (0, 0)]  # running and waiting, when its last step came back
        self.cached = [0, 0]  # blocks of the KV cache in use, then

    def figures(self):
        """What runs and what waits, as far as the gauges know."""
        ranks = self.stepped if self.options.late_gauges else map(self.count, (0, 1))
        return tuple(map(sum, zip(*ranks, strict=True)))

    def cache_use(self):
        blocks = self.cached if self.options.late_gauges else map(self.blocks, (0, 1))
        return sum(blocks) / 256

    def blocks(self, rank):
        return sum(1 + each.steps for each in self.running.values() if each.rank == rank)

    def count(self, rank):
        parts = self.running.values(), self.queue
        return tuple(sum(each.rank == rank for each in part) for part in parts)

    def step_came_back(self, rank, counted=None):
        if not self.clock.paused:
            self.stepped[rank] = counted or self.count(rank)
            self.cached[rank] = self.blocks(rank)

    async def completions(self, connection, request):
        if self.options.completions_status:
            status = self.options.completions_status
            if status == 200:
                return await connection.answer(status, b"")
            return await connection.answer(status, {"error": {"message": "refused"}})
        self.accepted += 1
        try:
            return await self.complete(connection, request)
        finally:
            self.accepted -= 1

    async def complete(self, connection, request):
        given = request.headers.get("x-request-id")
        is_probe = "x-lastcall-probe" in request.headers
        self.probes += is_probe
        self.probe_mark = request.headers.get("x-lastcall-probe", self.probe_mark)
        try:
            body = request.json()
            rank = self.rank_of(request)
            endpoint = request.headers.get("x-sim-endpoint") or (
                "generate" if "chat" in request.path else "decode")  # fmt: skip
            generation = Generation(
                await self.begin(given, endpoint, body, is_probe), request.path, body, endpoint
            )
        except Rejected as refused:
            wait = max(1, round(refused.retry_after or 1))
            headers = [("Retry-After", wait), ("X-Lastcall-Reason", refused.kind)]
            error = error_body(refused.kind, refused.request_id)
            return await connection.answer(503, error, headers=headers)
        except (ValueError, TypeError, AttributeError) as error:
            return await connection.answer(400, {"error": {"message": str(error)}})
        generation.rank = rank
        context = generation.context
        self.trace("start", id=context.id(), endpoint=endpoint, stream=generation.stream)
        connection.on_gone = lambda: self.client_gone(generation)
        loop = asyncio.get_running_loop()
        context.on_stop(lambda _: loop.call_soon_threadsafe(self.cancelled, generation))
        context.on_kill(lambda _: loop.call_soon_threadsafe(self.cancelled, generation))
        try:
            return await self.generate(connection, generation)
        finally:
            connection.on_gone = None
            self.finish(generation)

    def rank_of(self, request):
        """SGLang refuses a rank that is not a number; vLLM and an older SGLang balance instead."""
        given = request.headers.get("x-data-parallel-rank", "0")
        if self.options.no_rank_header or not (given.isdigit() or self.options.dp_ranks):
            return 0
        return int(given) % 2

    async def begin(self, given, endpoint, body, is_probe):
        # An id that a client uses twice at a time is made unique, as the ingress does.
        own = f"{given}-{os.urandom(4).hex()}" if given in self.running else given
        if self.client is None or is_probe:
            return Context(own, root=given)
        return await self.client.begin_async(
            own, root=given, endpoint=endpoint, model=str(body.get("model", "sim")),
            admit=self.options.admit,
        )  # fmt: skip

    async def generate(self, connection, generation):
        context = generation.context
        await self.take_place(generation)
        await self.prefill(generation)
        self.die_of(generation)
        headers = [("X-Request-Id", context.root)]
        if generation.stream and not self.must_end(generation):
            self.start_stream(connection, generation, headers)
        while generation.done < generation.max_tokens and not self.must_end(generation):
            await self.clock.tick(generation)
            if self.clock.paused or self.must_end(generation):
                continue
            if generation.stream:
                await self.send(connection, generation, generation.chunk(generation.token()))
            generation.done += 1
            self.tokens += 1
            self.step_came_back(generation.rank)
            context.progress()
            self.die_of(generation)
        if self.must_end(generation):
            return await self.cut(connection, generation, headers)
        return await self.end(connection, generation, headers, "length")

    async def end(self, connection, generation, headers, finish):
        if not generation.stream:
            return await connection.answer(200, generation.whole(finish), headers=headers)
        if not generation.head_is_out:
            self.start_stream(connection, generation, headers)
        await self.send(connection, generation, generation.chunk("", finish=finish))
        if generation.usage:
            usage = {**generation.chunk(""), "choices": [], "usage": generation.usage_object()}
            await self.send(connection, generation, usage)
        await connection.send(b"data: [DONE]\n\n")
        await connection.finish_stream()
        return True

    def start_stream(self, connection, generation, headers):
        connection.start_stream(headers)
        generation.head_is_out = True

    def die_of(self, generation):
        poison, at = self.options.dies_of, self.options.dies_at
        if poison and poison in generation.text and generation.done == at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def prefill(self, generation):
        """A rank takes one step after the other: a prefill holds off the requests behind it.

        What comes during a step is not in the figures that are set when it comes back.
        """
        is_long = self.options.prefill > 0 and generation.max_tokens > 1
        step = self.options.prefill / self.options.prefill_steps if is_long else 0.0
        begun = max(asyncio.get_running_loop().time(), self.core_free_at[generation.rank])
        steps = self.options.prefill_steps if is_long else 1
        self.core_free_at[generation.rank] = begun + step * steps
        for number in range(1, steps + 1):
            counted = self.count(generation.rank)
            await self.until(begun + step * number, generation)
            if number < steps and not self.must_end(generation):
                generation.steps += 1
                self.step_came_back(generation.rank, counted)

    async def until(self, due, generation):
        loop = asyncio.get_running_loop()
        while loop.time() < due and not self.must_end(generation):
            generation.wake = loop.create_future()
            timer = loop.call_at(due, generation.nudge)
            await generation.wake
            timer.cancel()

    async def send(self, connection, generation, data):
        line = event(data)
        await connection.send(line)
        generation.events_sent += 1
        generation.bytes_sent += len(line)

    def core_died(self):
        self.core_is_dead = True
        for generation in [*self.running.values(), *self.queue]:
            generation.nudge()

    def abort_all(self):
        """As vLLM's engine does on its signal: a reader of the stream takes it for a whole one."""
        self.aborts = True
        for generation in [*self.running.values(), *self.queue]:
            generation.nudge()

    async def fail(self, connection, generation, headers):
        """As vLLM's API server does without its core: a stream ends as if it were whole."""
        if not generation.stream or not generation.events_sent:
            return await connection.answer(500, CORE_DIED, headers=headers)
        await connection.send(event(CORE_DIED))
        await connection.send(b"data: [DONE]\n\n")
        await connection.finish_stream()
        return True

    async def cut(self, connection, generation, headers):
        """Ends a cancelled request so that no client takes it for a finished one."""
        if generation.gone:
            return False
        if self.core_is_dead and not generation.context.is_stopped():
            return await self.fail(connection, generation, headers)
        if self.aborts and not generation.context.is_stopped():
            return await self.end(connection, generation, headers, "abort")
        cause, name = generation.context.cause, generation.context.root
        kind = {"migrate": "migrated", "grace_timeout": "migrated"}.get(cause, cause)
        kind = kind if kind in ("migrated", "engine_dead") else "cancelled"
        if generation.stream and generation.events_sent:
            last = sse_error(kind, name, events_sent=generation.events_sent,
                             bytes_sent=generation.bytes_sent)  # fmt: skip
            await connection.send(last)
            return False
        headers = [*headers, ("Retry-After", 1), ("X-Lastcall-Reason", kind)]
        return await connection.answer(503, error_body(kind, name), headers=headers)

    async def take_place(self, generation):
        limit = self.options.max_running
        while limit and len(self.running) >= limit and not self.must_end(generation):
            generation.wake = asyncio.get_running_loop().create_future()
            self.queue.append(generation)
            await generation.wake
            if generation in self.queue:
                self.queue.remove(generation)
        self.running[generation.context.id()] = generation

    def must_end(self, generation):
        ignored = self.options.ignore_cancel
        if generation.gone or self.core_is_dead or self.aborts:
            return True
        if ignored == "all":
            return False
        context = generation.context
        return context.is_killed() if ignored == "stop" else context.is_stopped()

    def cancelled(self, generation):
        context = generation.context
        self.trace("cancel", id=context.id(), mode="kill" if context.is_killed() else "stop",
                   reason=context.reason)  # fmt: skip
        generation.nudge()

    def client_gone(self, generation):
        self.trace("disconnect", id=generation.context.id())
        generation.gone = True
        generation.context.kill(reason="client_disconnect")
        generation.nudge()

    def finish(self, generation):
        self.clock.forget(generation)
        self.running.pop(generation.context.id(), None)
        self.tokens_ended += generation.done
        if generation.done:
            self.step_came_back(generation.rank)
        if self.queue:
            self.queue[0].nudge()
        complete = generation.done >= generation.max_tokens and not generation.gone
        generation.context.end("completed" if complete else None)
        self.trace("end", id=generation.context.id(), outcome=generation.context.outcome,
                   tokens=generation.done)  # fmt: skip
        self.on_idle()
