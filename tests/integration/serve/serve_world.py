"""A supervisor, its shim and its engine as processes, with everything in a directory of its own."""

import contextlib
import copy
import http.client
import json
import os
import signal
import subprocess
import sys

from ports import free_port
from serve_peer import PATIENCE, Peer, wait_until

BUILD = os.environ.get(
    "LASTCALL_BUILD_DIR",
    os.path.join(os.path.dirname(__file__), "../../../build/dev"),
)
LASTCALL = os.path.abspath(os.path.join(BUILD, "supervisor/cli/lastcall"))
SHIM = os.path.abspath(os.path.join(BUILD, "shim/lastcall-shim"))
DENY_SYSCALLS = os.path.abspath(os.path.join(BUILD, "tests/helpers/deny_syscalls"))
REFUSED = ("EPERM", "ENOSYS")  # what it answers
ENGINE_SIM = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../helpers/engine_sim.py"))

QUICK = {
    "shutdown": {
        "grace_period": "8s",
        "deregister_timeout": "500ms",
        "late_accept": "50ms",
        "cleanup_reserve": "3s",
        "cancel_settle": "300ms",
        "drain_unknown": "200ms",
    },
    "health": {"interval": "100ms"},
    "ipc": {"reconnect_window": "2s"},
}
SLEEPER = ("/bin/sleep", "3600")
# A main process that ignores TERM, and nothing else.
STUBBORN = (sys.executable, "-c", "import signal,time\nsignal.signal(15, signal.SIG_IGN)\n"
            "open({ready!r}, 'w').close()\nwhile True: signal.pause()")  # fmt: skip


def lastcall(*words, **environment):
    """One of its subcommands, to its end."""
    return subprocess.run(
        [LASTCALL, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def merged(base, extra):
    result = copy.deepcopy(base)
    for key, value in extra.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


class World:
    """One supervisor. Run mode: `run(CMD)`. Side by side: `serve()`, then `shim(CMD)`."""

    def __init__(self, directory, **config):
        self.directory = str(directory)
        self.port = free_port()
        self.socket = self.path("e/l.sock")
        self.admin_socket = self.path("a/a.sock")
        self.config = merged(
            merged(QUICK, {
                "probes": {"listen": f"127.0.0.1:{self.port}"},
                "ipc": {"socket": self.socket, "admin_socket": self.admin_socket},
            }),
            config,
        )  # fmt: skip
        self.wrapped = ()  # what every program is started through
        self.processes = []
        self.peers = []
        self._log = open(self.path("log"), "wb", buffering=0)  # noqa: SIM115

    def path(self, name):
        return os.path.join(self.directory, name)

    def write_config(self):
        with open(self.path("lastcall.yaml"), "w") as file:
            json.dump(self.config, file)  # which is YAML too
        return self.path("lastcall.yaml")

    def _start(self, arguments, **environment):
        process = subprocess.Popen(
            (*self.wrapped, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
            env={**os.environ, "LASTCALL_TERMINATION_LOG": self.path("none"), **environment},
        )
        self.processes.append(process)
        return process

    def run(self, *command, options=(), **environment):
        return self._start(
            (LASTCALL, "run", "--config", self.write_config(), *options, "--", *command),
            **environment,
        )

    def run_engine(self, *flags, kind="vllm", checks=(), port=None, **environment):
        """An engine of this kind that knows nothing of lastcall: no SDK, only its HTTP server.

        A check without a kind asks its /health; `{port}` in a text is the engine's.
        """
        self.engine_port = port or free_port()
        engine = self.config.setdefault("engine", {})
        engine.update(kind=kind, url=f"http://127.0.0.1:{self.engine_port}")
        if checks:
            kinds = {"http", "tcp", "exec", "ipc", "progress"}
            http = {"http": {"url": engine["url"] + "/health"}}
            chosen = [check if kinds & set(check) else {**check, **http} for check in checks]
            text = json.dumps(chosen).replace("{port}", str(self.engine_port))
            self.config["health"]["checks"] = json.loads(text)
        self.process = self.run(
            sys.executable, ENGINE_SIM, "--port", str(self.engine_port), "--kind", kind, *flags,
            **environment,
        )  # fmt: skip
        self.wait_for_log('"phase begun","phase":"serving"')
        return self.process

    def serve(self, *options, **environment):
        return self._start(
            (LASTCALL, "serve", "--config", self.write_config(), *options), **environment
        )

    def shim(self, *command, options=(), **environment):
        return self._start(
            (SHIM, "--socket", self.socket, *options, "--", *command), **environment
        )

    def stop(self):
        """A stop by TERM that has to end well; returns its report."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=2 * PATIENCE) == 0
        return self.report()

    # --- looking and talking ---

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def records(self):
        """The supervisor's records, without the shim's lines and one that is being written."""
        lines = self.log().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for_log(self, text, count=1):
        try:
            wait_until(lambda: self.log().count(text) >= count, f"log says {text!r} {count}x")
        except AssertionError as error:
            raise AssertionError(f"{error}; it ends with\n{self.log()[-4000:]}") from None

    def reports(self):
        return [record["report"] for record in self.records() if "report" in record]

    def report(self):
        [report] = self.reports()
        return report

    def registries_were_late(self):
        """Whether the half second in which a stop takes leave of them was over too early."""
        item = self.reports()[-1]["cleanup"]["registries"]
        return item["outcome"] != "completed" and item["ms"] >= 450

    def peer(self, **hello):
        self.peers.append(Peer(self.socket, **hello))
        return self.peers[-1]

    def operator(self):
        self.peers.append(Peer(self.admin_socket, role="operator"))
        return self.peers[-1]

    def status(self):
        operator = self.operator()
        try:
            return operator.ask("status")
        finally:
            operator.close()

    def wait_for_phase(self, phase):
        def reached():
            try:
                return self.status()["phase"] == phase
            except (AssertionError, OSError):
                return False

        wait_until(reached, f"phase {phase}")

    def get(self, path):
        """Status and body of a probe; nothing when no process listens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return None, ""
        finally:
            connection.close()

    def supervisor_pid(self):
        """The pid of `serve`, however often it was started again."""
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit():
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                    if b"serve" in words[1:2] and self.directory.encode() in b" ".join(words):
                        return int(entry)
        return 0

    def processes_left(self):
        """Everything that was started from our directory and still lives, zombies included."""
        left = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit():
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        if self.directory.encode() in file.read():
                            left.append(int(entry))
        return left

    def close(self):
        for peer in self.peers:
            peer.close()
        for pid in self.processes_left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.kill()
            process.wait()
        self._log.close()


@contextlib.contextmanager
def worlds(folder, wrapped=()):
    """Makes worlds, each in a `folder()` of its own, and closes them all at the end."""
    made = []

    def make(**config):
        made.append(World(folder(), **config))
        made[-1].wrapped = wrapped
        return made[-1]

    yield make
    for one in made:
        one.close()
