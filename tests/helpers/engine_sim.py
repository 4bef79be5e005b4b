#!/usr/bin/env python3
"""An LLM engine for tests: OpenAI-compatible on the outside, as well or badly behaved as asked.

    /usr/bin/python3 engine_sim.py --port 0 --port-file F [flags, see --help]

Serves POST /v1/chat/completions and /v1/completions (stream and unary), GET /health, /v1/models and
the gauges of the engine that --kind names, where that one has them. Each failure of the flags can
also be brought about while it runs:
POST /sim/control with an object of
  rate, lie, slow_health, health_status, ignore_term, ignore_cancel, drain_on_term,
  term_exit_code, metrics, slow_metrics, prefill, completions_status, sleeping, paused
                   as the flags of these names
  hang             "health", "tokens", "core" (only /health and the gauges go on), "all",
                   "process" (SIGSTOP), or null to go on
  exit             exit code, at once          crash    "segv", "abort" or "kill", at once
  fatal            text: SDK report_fatal
  eat_memory       "self" or "worker" (the first of --workers): until the kernel ends it
and answers with the state, as does GET /sim/state. A request may bring its own `max_tokens`,
`X-Request-Id`, and `X-Sim-Endpoint: generate|decode` for the SDK's endpoint.

With --sdk, chat completions are the endpoint `generate` (graceful) and completions are `decode`
(not graceful); a cancelled request ends as a cut stream does: error event, no [DONE], no final
chunk. Tokens are `t0 t1 t2 ...`, so a reader sees what is missing.

Threads: one event loop; all streams share its one token clock. Only the standard library.
"""

import asyncio
import ctypes
import faulthandler
import json
import math
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.environ.get("LASTCALL_SDK_PATH", f"{HERE}/../../sdk/python")]

from lastcall import Client  # noqa: E402
from sim_generation import Generator  # noqa: E402
from sim_http import Connection  # noqa: E402
from sim_metrics import PATHS, Metrics  # noqa: E402
from sim_options import LIVE_SETTINGS, parse  # noqa: E402
from sim_worker import SIGNALS, eat_memory, log_signal, now_ms, worker_main  # noqa: E402

CORE_TITLES = {"vllm": "VLLM::EngineCore", "sglang": "sglang::scheduler"}  # as `ps` shows them
ENDPOINTS = {"generate": True, "decode": False}  # name: graceful_shutdown
RESTS = {"/release_memory_occupation": True, "/resume_memory_occupation": False}  # SGLang's


class Trace:
    """JSON lines, each flushed, so that a KILL loses none."""

    def __init__(self, path):
        self._file = open(path, "a", buffering=1) if path else None

    def __call__(self, kind, **fields):
        if self._file is not None:
            line = {"event": kind, "at_ms": now_ms(), "pid": os.getpid(), **fields}
            self._file.write(json.dumps(line) + "\n")


class Engine:
    def __init__(self, options):
        self.options = options
        self.trace = Trace(options.trace)
        self.generator = Generator(options, self.trace, self.exit_if_drained)
        self.metrics = Metrics(options, self.generator)
        self.hang = None
        self.released = False
        self.workers = []
        self.core = None
        self.core_died_at = None
        self.stopping = False
        self.exited = None  # future of the exit code
        self.server = None
        self.client = None

    async def live(self):
        loop = asyncio.get_running_loop()
        self.exited = loop.create_future()
        for name in SIGNALS:
            loop.add_signal_handler(getattr(signal, "SIG" + name), self.on_signal, name)
        self.start_workers(loop)
        self.plan_failures(loop)
        if self.options.sdk:
            self.start_sdk(loop)
        loop.call_later(self.options.startup_delay, lambda: loop.create_task(self.listen()))
        code = await self.exited
        self.stop_workers()
        if self.client is not None:
            self.client.close()
        return code

    async def listen(self):
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(
            lambda: Connection(self.handle), self.options.host, self.options.port, backlog=1024
        )
        port = self.server.sockets[0].getsockname()[1]
        self.trace("listening", port=port)
        if self.options.port_file:
            with open(self.options.port_file + ".new", "w") as file:
                file.write(str(port))
            os.replace(self.options.port_file + ".new", self.options.port_file)

    def start_sdk(self, loop):
        self.client = Client(self.options.name, critical=self.options.critical)
        self.generator.client = self.client
        for name, graceful in ENDPOINTS.items():
            self.client.register_endpoint(name, graceful_shutdown=graceful)
        self.client.on_health(lambda: "dead" if self.hang and not self.options.lie else "healthy")
        self.client.on_phase(lambda phase: self.trace("phase", phase=phase))
        self.client.on_cleanup(self.on_cleanup)
        self.client.on_deregister(lambda: self.trace("deregister"))

    def on_cleanup(self, seconds_left):
        self.trace("cleanup", seconds_left=seconds_left)
        time.sleep(self.options.cleanup_delay)

    def plan_failures(self, loop):
        options = self.options
        self.pace()
        if options.hang_after is not None:
            loop.call_later(options.hang_after, self.set_hang, options.hang)
        if options.exit_after is not None:
            fail = (lambda: self.crash(options.crash)) if options.crash else (
                lambda: self.exit(options.exit_code))  # fmt: skip
            loop.call_later(options.exit_after, fail)

    def set_hang(self, mode):
        self.trace("hang", mode=mode)
        self.hang = mode
        self.pace()
        if mode == "process":
            self.hang = None  # a CONT is the way back
            os.kill(os.getpid(), signal.SIGSTOP)

    def pace(self):
        """One that is paused, or has released its memory, takes requests and generates nothing."""
        rests = bool(self.options.paused) or self.released
        self.generator.clock.paused = rests or self.hang in ("tokens", "core", "all")

    def exit(self, code):
        if not self.exited.done():
            self.exited.set_result(code)

    def crash(self, how):
        self.trace("crash", how=how)
        faulthandler.disable()
        if how == "segv":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            ctypes.string_at(0)
        if how == "abort":
            os.abort()
        os.kill(os.getpid(), signal.SIGKILL)

    def on_signal(self, name):
        log_signal(self.options.log_signals, name)
        self.trace("signal", name=name)
        if name in ("TERM", "INT", "QUIT") and not self.options.ignore_term:
            self.stopping = True
            if self.server is not None and self.waits_on_term():
                self.server.close()
            if self.options.abort_on_term:
                self.generator.abort_all()
            if self.options.linger_on_term:
                self.generator.clock.paused = True
                if self.core is not None:
                    self.core.terminate()
            self.exit_if_drained()

    def waits_on_term(self):
        options = self.options
        return options.drain_on_term or options.abort_on_term or options.linger_on_term

    def exit_if_drained(self):
        busy = self.generator.running or self.generator.queue
        if self.stopping and not (self.waits_on_term() and busy):
            self.exit(self.options.term_exit_code)

    # --- workers

    def start_workers(self, loop):
        """Children that end when this process does: the pipe that they read is only ours."""
        command = [sys.executable, __file__, "--worker"]
        command += ["--leak-workers"] if self.options.leak_workers else []
        command += ["--ignore-term"] if self.options.workers_ignore_term else []
        if self.options.log_signals:
            command += ["--log-signals", self.options.log_signals]
        for _ in range(self.options.workers):
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      start_new_session=self.options.setsid_workers)  # fmt: skip
            worker.stdout.readline()  # its handlers are in place
            self.workers.append(worker)
            loop.add_reader(worker.stdout, self.on_worker_exit, worker, loop)
            self.trace("worker", worker=worker.pid)
        if self.options.core:
            self.start_core(command, loop)

    def start_core(self, command, loop):
        command = [*command, "--title", CORE_TITLES.get(self.options.kind, "core")]
        self.core = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.core.stdout.readline()
        loop.add_reader(self.core.stdout, self.on_core_exit, loop)

    def on_core_exit(self, loop):
        """As with vLLM, the API server lives on and answers with errors."""
        loop.remove_reader(self.core.stdout)
        self.trace("core_exit", code=self.core.wait())
        self.core_died_at = loop.time()
        if not (self.stopping and self.options.linger_on_term):
            self.generator.core_died()

    def on_worker_exit(self, worker, loop):
        """As real engines do, an engine that loses a worker dies."""
        loop.remove_reader(worker.stdout)
        self.trace("worker_exit", worker=worker.pid, code=worker.wait())
        self.exit(1)

    def stop_workers(self):
        core = [self.core] if self.core else []
        for worker in [] if self.options.leak_workers else [*self.workers, *core]:
            worker.terminate()
            try:
                worker.wait(1)
            except subprocess.TimeoutExpired:
                pass  # its pipe ends with us

    # --- HTTP

    async def handle(self, connection, request):
        route = (request.method, request.path)
        if route in (("POST", "/v1/chat/completions"), ("POST", "/v1/completions")):
            return await self.generator.completions(connection, request)
        if route == ("GET", "/health"):
            return await self.health(connection)
        if route == ("GET", PATHS[self.options.kind]):
            return await self.metrics_page(connection)
        if route == ("GET", "/v1/models"):
            models = [{"id": "sim", "object": "model", "owned_by": "lastcall"}]
            return await connection.answer(200, {"object": "list", "data": models})
        if route == ("GET", "/load"):
            counts = self.options.load_tracking and self.options.api_servers == 1
            load = self.generator.accepted if counts else 0
            return await connection.answer(200, {"server_load": load})
        if route == ("GET", "/is_sleeping") and self.options.sleeping is not None:
            return await connection.answer(200, {"is_sleeping": self.options.sleeping})
        if route == ("GET", "/is_paused") and self.options.paused is not None:
            return await connection.answer(200, {"is_paused": self.options.paused})
        if request.method == "POST" and request.path in RESTS:
            self.released = RESTS[request.path]
            self.pace()
            return await connection.answer(200, b"")
        if route == ("GET", "/sim/state"):
            return await connection.answer(200, self.state())
        if route == ("POST", "/sim/control"):
            return await self.control(connection, request)
        return await connection.answer(404, {"error": f"no {request.method} {request.path}"})

    async def health(self, connection):
        await asyncio.sleep(self.options.slow_health)
        while self.hang in ("health", "all") and not self.options.lie and not connection.gone:
            await asyncio.sleep(0.02)
        status = self.options.health_status
        if self.hang == "tokens" and not self.options.lie:
            status = 503
        dead_for = asyncio.get_running_loop().time() - (self.core_died_at or math.inf)
        if dead_for >= self.options.core_death_unseen:
            status = 503
        return await connection.answer(status, b"")

    async def metrics_page(self, connection):
        await asyncio.sleep(self.options.slow_metrics)
        return await connection.answer(*self.metrics.answer())

    def state(self):
        return {
            "pid": os.getpid(),
            "running": len(self.generator.running), "waiting": len(self.generator.queue),
            "metrics_read": self.metrics.read, "probes": self.generator.probes,
            "probe_mark": self.generator.probe_mark,
            "core": self.core and self.core.pid,
            "hang": self.hang, "workers": [worker.pid for worker in self.workers],
            "connected": bool(self.client and self.client.connected),
            "phase": self.client.phase if self.client else None,
        }  # fmt: skip

    async def control(self, connection, request):
        try:
            wanted = request.json()
            others = {"hang", "exit", "crash", "fatal", "eat_memory"}
            unknown = set(wanted) - {*LIVE_SETTINGS, *others}
            if unknown:
                raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
        except ValueError as error:
            return await connection.answer(400, {"error": str(error)})
        for name in LIVE_SETTINGS:
            if name in wanted:
                setattr(self.options, name, wanted[name])
        self.generator.clock.rate = self.options.rate
        self.pace()
        self.metrics.freeze()
        freeze = wanted.get("hang") == "process"
        if "hang" in wanted and not freeze:
            self.set_hang(wanted["hang"])
        kept = await connection.answer(200, self.state())
        if freeze:
            self.set_hang("process")
        if "fatal" in wanted and self.client is not None:
            await asyncio.to_thread(self.client.report_fatal, "simulated", str(wanted["fatal"]))
        if "exit" in wanted:
            self.exit(int(wanted["exit"]))
        if "crash" in wanted:
            self.crash(wanted["crash"])
        if wanted.get("eat_memory") == "worker":
            self.workers[0].stdin.write(b"eat")
            self.workers[0].stdin.flush()
        elif wanted.get("eat_memory") == "self":
            eat_memory()
        return kept


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    if chosen.worker:
        worker_main(chosen)
    else:
        sys.stdout.flush()
        # The engine ends at once and cuts open connections, as one does that has to end.
        os._exit(asyncio.run(Engine(chosen).live()))
