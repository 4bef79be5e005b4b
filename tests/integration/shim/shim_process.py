"""A shim under test: started as PID 1 of its own PID namespace, or as an ordinary subreaper.

Or as a subreaper under a filter that refuses the newer system calls, with one of REFUSED.
"""

import os
import signal
import subprocess
import time

from known_process import KnownProcess, by_age, descendants_of, is_alive, send, stat_of

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("LASTCALL_BUILD_DIR", os.path.join(TREE, "build", "dev"))
SHIM = os.path.join(BUILD, "shim", "lastcall-shim")
REFUSED = ("EPERM", "ENOSYS")
NO_POD = {k: v for k, v in os.environ.items() if k != "KUBERNETES_SERVICE_HOST"}


def helper(name):
    return os.path.join(BUILD, "tests", "helpers", name)


def prefix_of(mode):
    """What a program is started through in this mode."""
    if mode == "pid1":
        return ["unshare", "-pf", "--mount-proc"]
    return [helper("deny_syscalls"), mode] if mode in REFUSED else []


def eventually(condition, what, timeout=10):
    """Polls until the condition returns something true, and returns that."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.005)


def elapsed(function):
    """(what it returns, milliseconds that it took)"""
    before = time.monotonic()
    result = function()
    return result, (time.monotonic() - before) * 1000


def start_engine(supervised, boss, *command, **options):
    """A shim with a running engine that its supervisor knows of, ready for signals."""
    process = supervised(*command, **options)
    boss.expect("engine.started")
    process.is_ready()
    return process


def status_field(pid, field):
    with open(f"/proc/{pid}/status", encoding="latin-1") as file:
        for line in file:
            if line.startswith(field + ":"):
                return line.split(":", 1)[1].strip()
    raise KeyError(field)


class ShimProcess:
    def __init__(self, arguments, mode="subreaper", program=None, **popen):
        assert os.path.exists(SHIM), f"no {SHIM}: build it, or set LASTCALL_BUILD_DIR"
        self.mode = mode
        command = [*prefix_of(mode), *(program or [SHIM]), *map(str, arguments)]
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(command, **popen)
        self._pid = None if mode == "pid1" else KnownProcess(self.process.pid)
        self._output = b""
        self._known = set()

    @property
    def pid(self):
        """The shim's number in our namespace."""
        if self._pid is None:
            path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"

            def find():
                if self.process.poll() is not None:
                    raise AssertionError(f"ended with {self.process.returncode}")
                with open(path, encoding="ascii") as file:
                    return file.read().split()

            self._pid = KnownProcess(eventually(find, "unshare has a child")[0])
            # unshare's child is unshare itself until it has executed the shim.
            eventually(lambda: getattr(stat_of(self._pid), "name", "") != "unshare",
                       "the shim runs")  # fmt: skip
        return self._pid

    def is_ready(self):
        """It blocks its signals, so that nothing sent from now on is lost."""
        pid = self.pid
        return eventually(lambda: status_field(pid, "SigBlk").startswith("ffff"),
                          "signals are blocked")

    def read_line(self, timeout=10):
        """The next line of the engine's stdout."""
        os.set_blocking(self.process.stdout.fileno(), False)

        def take():
            if b"\n" not in self._output:
                self._output += self.process.stdout.read1(65536) or b""
            return b"\n" in self._output

        eventually(take, f"a line on stdout, have {self._output!r}", timeout)
        line, self._output = self._output.split(b"\n", 1)
        return line.decode()

    def wait_ready(self):
        assert self.read_line() == "ready"
        self.remember_tree()

    def send(self, number):
        os.kill(self.pid, number)

    def tree(self):
        return descendants_of(self.pid)

    def remember_tree(self):
        self._known |= set(self.tree())

    def engine(self):
        """The oldest living child; as subreaper mostly the only one."""
        def find():
            return by_age({p: stat for p, stat in self.tree().items() if stat.parent == self.pid})

        return eventually(find, "the engine runs")[0]

    def wait(self, timeout=15):
        code = self.process.wait(timeout)
        return code if code >= 0 else 128 - code

    def await_log(self, text, timeout=10, times=1):
        """Reads stderr until it has this so often; returns all that was read."""
        os.set_blocking(self.process.stderr.fileno(), False)
        seen = b""

        def look():
            nonlocal seen
            seen += self.process.stderr.read1(65536) or b""
            return seen.count(text.encode()) >= times

        eventually(look, f"{text!r} in the log, have {seen!r}", timeout)
        return seen.decode()

    def stderr(self):
        os.set_blocking(self.process.stderr.fileno(), True)
        return self.process.stderr.read().decode()

    def survivors(self):
        """The numbers of all processes that were seen in its tree."""
        return [p for p in self._known if is_alive(p)]

    def kill(self):
        if self.process.poll() is None:
            try:
                leftovers = list(self.tree())
                os.kill(self.pid, signal.SIGKILL)
                for process in leftovers:
                    send(process, signal.SIGKILL)
            except (ProcessLookupError, AssertionError):
                pass
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr, self.process.stdin):
            if stream:
                stream.close()
