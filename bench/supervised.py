"""A supervisor to measure: `lastcall serve` alone, or `lastcall run` with an engine.

Each has a folder of its own for its sockets and its log, and is killed if a measurement leaves it
running. Both are context managers.
"""

import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import processes
from bench import PATIENCE, await_that
from figures import NotMeasured
from local_ports import free_port
from wire import Peer

CONFIG = """\
shutdown: {{late_accept: 0s, {shutdown}}}
ipc: {{socket: "{folder}/ipc/lastcall.sock", admin_socket: "{folder}/admin/admin.sock",
      max_requests_per_peer: 1000000, max_requests: 1000000}}
probes: {{listen: "127.0.0.1:{port}"}}
{further}
"""


class _Supervised:
    """`pid` is the supervisor's, `process` what was started."""

    def __init__(self, bench, words, shutdown="grace_period: 60s", further="", **more):
        self.folder = Path(tempfile.mkdtemp(dir=bench.scratch))
        self.port = free_port()
        self.engine_socket = self.folder / "ipc/lastcall.sock"
        self.admin_socket = self.folder / "admin/admin.sock"
        config = self.folder / "lastcall.yaml"
        config.write_text(CONFIG.format(folder=self.folder, port=self.port, shutdown=shutdown,
                                        further=further))  # fmt: skip
        with open(self.folder / "log", "wb") as log:
            self.started_ns = time.monotonic_ns()
            self.process = subprocess.Popen(
                [bench.lastcall, words[0], "--config", str(config), *words[1:]],
                stdin=subprocess.DEVNULL, stderr=log, **more)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def ended(self):
        """The exit code, once it has ended."""
        return self.process.wait(PATIENCE)

    def fail_if_ended(self):
        if self.process.poll() is not None:
            said = (self.folder / "log").read_text(errors="replace").strip().splitlines()
            raise NotMeasured(f"it ended with {self.process.returncode}: {said[-1:]}")

    def is_live(self):
        """True once /livez answers 200."""
        self.fail_if_ended()
        try:
            with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
                connection.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                return connection.recv(64).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False

    def operator(self):
        return self._connect(self.admin_socket, "operator")

    def engine_peer(self, **more):
        return self._connect(self.engine_socket, "engine", **more)

    def _connect(self, path, role, **more):
        def attempt():
            self.fail_if_ended()
            try:
                return Peer(path, role, **more)
            except (FileNotFoundError, ConnectionError):
                return None

        return await_that(attempt, f"answer on {path.name}")

    def await_serving(self):
        operator = self.operator()
        try:
            await_that(lambda: operator.ask({"op": "status"})["phase"] == "serving", "serving")
        finally:
            operator.close()


class Serve(_Supervised):
    """As in a pod: the shim is another container's, which here is a peer that announces itself as
    one."""

    def __init__(self, bench, *shutdown):
        self._shim = None
        super().__init__(bench, ["serve"], *shutdown, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid

    def await_serving(self):
        engine = {"pid": 1, "state": "running", "started_at_ms": time.monotonic_ns() // 1_000_000}
        self._shim = self._connect(self.engine_socket, "shim", boot="bench", engine=engine)
        super().await_serving()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        if self._shim is not None:
            self._shim.close()


class Run(_Supervised):
    """Its engine is bench_child, which reports the instant of each signal."""

    def __init__(self, bench, further=""):
        self.bench = bench
        super().__init__(bench, ["run", "--", bench.child, "signals"], further=further,
                         stdout=subprocess.PIPE)  # fmt: skip

    def await_serving(self):
        self.next_instant()  # the engine runs
        super().await_serving()
        self.engine = self._child(self.bench.child)
        self.pid = self._child(self.bench.supervisor)

    def _child(self, program):
        return await_that(lambda: processes.child_with(self.process.pid, program), program)

    def next_instant(self):
        data = self.process.stdout.read(8)
        if len(data) < 8:
            self.ended()
            self.fail_if_ended()
        return struct.unpack("q", data)[0]

    def terminate(self):
        os.kill(self.process.pid, signal.SIGTERM)

    def __exit__(self, *exception):
        for child in self._left_behind():
            os.kill(child, signal.SIGKILL)
        super().__exit__(*exception)

    def _left_behind(self):
        """The shim's children, which outlive it if it is killed before it could end them."""
        return [] if self.process.poll() is not None else processes.children(self.process.pid)
