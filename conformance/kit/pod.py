"""A pod without a cluster: containers as processes, and a kubelet with the real order of stops.

Each container gets a PID namespace and a /proc of its own, so that its command is PID 1: signals
without a handler are lost on it, orphans become its children, and when it ends the kernel ends the
rest. Where no namespace can be made, `isolated()` is false and containers are plain processes.

The stop is the kubelet's: at deletion each container's preStop hook begins; a container gets its
stop signal when its hook has ended, a native sidecar when every other container has ended too; what
is left when the grace is over gets KILL. Nothing is restarted.
"""

import contextlib
import functools
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading

from .trace import now_ms

CONTAIN = (sys.executable, "-B", "-S", os.path.join(os.path.dirname(__file__), "contain.py"))


@functools.cache
def isolated():
    """Whether namespaces can be made here, by root or by any user."""
    process, pid = start(["true"])
    return process.wait() == 0 and pid != 0


def start(command, **how):
    """A container's process, and the PID of its PID 1 as seen from here; 0 if there is none."""
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen([*CONTAIN, str(writer), *command], pass_fds=(writer,), **how)
    finally:
        os.close(writer)
    with os.fdopen(reader) as report:
        return process, int(report.readline() or 0)


def stat_of(pid):
    """Returns (state, parent), or nothing if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            words = file.read().rpartition(")")[2].split()
        return words[0], int(words[1])
    except (OSError, IndexError):
        return None


def descendants(pid):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := stat_of(entry)):
            parents.setdefault(found[1], []).append(int(entry))
    found, left = [], [pid]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


class Container:
    def __init__(self, description, folder, transcript):
        self.name = description["name"]
        self.argv = description["argv"]
        self.prestop = description.get("prestop")
        self.stop_signal = getattr(signal, "SIG" + description.get("stop_signal", "TERM"))
        self.native_sidecar = description.get("native_sidecar", False)
        self.outside = description.get("outside", False)  # belongs to no pod and is not stopped
        self.output = os.path.join(folder, f"{self.name}.log")
        self.termination = os.path.join(folder, f"{self.name}.termination")
        self.code, self.ended_ms, self.was_killed, self._transcript = None, None, False, transcript
        self.ended = threading.Event()
        environment = {
            "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], "HOME": folder,
            "LASTCALL_TERMINATION_LOG": self.termination, **description.get("env", {}),
        }  # fmt: skip
        with open(self.output, "ab") as log:
            how = dict(env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                       start_new_session=True, cwd=folder)  # fmt: skip
            if isolated():
                self._process, self.pid = start(self.argv, **how)
            else:
                self._process = subprocess.Popen(self.argv, **how)
                self.pid = self._process.pid
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self):
        code = self._process.wait()
        self.code = code if code >= 0 else 128 - code
        self.ended_ms = now_ms()
        who = "kit" if self.outside else "kubelet"
        self._transcript.add(who, f"{self.name} ended", at_ms=self.ended_ms, code=self.code)
        self.ended.set()

    def kill(self, number):
        if not self.ended.is_set() and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def processes(self):
        """The processes of the container, PID 1 among them: [(pid there, pid here, state,
        command)]."""
        found = []
        for pid in [self.pid, *descendants(self.pid)]:
            with contextlib.suppress(OSError, IndexError):
                with open(f"/proc/{pid}/status") as file:
                    status = dict(line.split(":", 1) for line in file if ":" in line)
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
                inner = int(status["NSpid"].split()[-1])
                found.append((inner, pid, status["State"].split()[0], command))
        return found

    def inner_process(self, inner):
        return next((pid for there, pid, *_ in self.processes() if there == inner), None)

    def text(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def message(self):
        """The termination message that `kubectl describe pod` would show."""
        with contextlib.suppress(OSError), open(self.termination, errors="replace") as file:
            return file.read()
        return ""

    def destroy(self):
        leftovers = [] if isolated() else descendants(self._process.pid)
        for pid in [self.pid, self._process.pid, *leftovers]:
            with contextlib.suppress(ProcessLookupError, OSError):
                if pid:
                    os.kill(pid, signal.SIGKILL)
        self.ended.wait(10)


def get(url, timeout=1.0, headers=(), contains=""):
    """The status of a GET, or nothing if no answer with `contains` in its body came in time."""
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        # Some proxies distinguish probes from requests by the kubelet's name.
        all_headers = {"User-Agent": "kube-probe/1.32", **dict(headers)}
        connection.request("GET", "/" + path, headers=all_headers)
        response = connection.getresponse()
        if contains and contains not in response.read(65536).decode(errors="replace"):
            return None
        return response.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


class Pod:
    """Containers of one description (see docs/conformance.md), from start to deletion."""

    FAILURES = 3  # failed probes in a row, as is Kubernetes' default

    def __init__(self, description, folder, grace_s, transcript):
        self.description, self.grace_s, self._transcript = description, grace_s, transcript
        self.containers, self.deleted_ms, self.is_ready = [], None, False
        self._closing = threading.Event()
        self._deletion = None
        for each in description["containers"]:
            self.containers.append(Container(each, folder, transcript))
        self.engine = next(c for c in self.containers if c.name == "engine")
        self._prober = threading.Thread(target=self._probe, daemon=True)
        self._prober.start()

    def inside(self):
        return [c for c in self.containers if not c.outside]

    @staticmethod
    def _passes(probe):
        """A URL, or {"url": ..., "headers": {...}, "contains": ...}."""
        probe = {"url": probe} if isinstance(probe, str) else probe
        more = {key: probe[key] for key in ("headers", "contains") if key in probe}
        return 200 <= (get(probe["url"], **more) or 0) < 400

    def _probe(self):
        failures = 0
        for probe in self.description.get("startup", ()):
            while not self._passes(probe) and not self._closing.wait(0.2):
                pass
        while not self._closing.is_set():
            fine = all(self._passes(probe) for probe in self.description["ready"])
            failures = 0 if fine else failures + 1
            if fine != self.is_ready and (fine or failures >= self.FAILURES):
                self.is_ready = fine
                self._transcript.add("kubelet", "ready" if fine else "not ready")
            self._closing.wait(0.2)

    def delete(self):
        deleted = self._transcript.add("kubelet", "deletes the pod", grace=self.grace_s)
        self.deleted_ms = deleted.at_ms
        self._deletion = [
            threading.Thread(target=self._stop, args=(c,), daemon=True) for c in self.inside()
        ]
        for thread in self._deletion:
            thread.start()

    def _left(self):
        return self.grace_s - (now_ms() - self.deleted_ms) / 1000

    def _stop(self, container):
        if container.prestop:
            self._hook(container)
        if container.native_sidecar:
            for other in self.inside():
                if not other.native_sidecar:
                    other.ended.wait(max(0, self._left()))
        if not container.ended.is_set() and self._left() > 0:
            name = signal.Signals(container.stop_signal).name
            self._transcript.add("kubelet", f"{name} to {container.name}")
            container.kill(container.stop_signal)
        if not container.ended.wait(max(2.0 if container.native_sidecar else 0, self._left())):
            self._transcript.add("kubelet", f"KILL to {container.name}: the grace is over")
            container.was_killed = True
            container.kill(signal.SIGKILL)

    def _hook(self, container):
        """Runs {"sleep_s": n}, {"http": URL} or {"exec": [...]}, never beyond the grace."""
        self._transcript.add("kubelet", f"preStop of {container.name}")
        hook = container.prestop
        if "sleep_s" in hook:
            container.ended.wait(min(hook["sleep_s"], self._left()))
        elif "http" in hook:
            get(hook["http"], timeout=max(0.1, self._left()))
        elif "exec" in hook:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(hook["exec"], timeout=max(0.1, self._left()), capture_output=True)
        self._transcript.add("kubelet", f"preStop of {container.name} ended")

    def has_ended(self):
        return all(c.ended.is_set() for c in self.inside())

    def killed(self):
        return [c.name for c in self.inside() if c.was_killed]

    def ended_ms(self):
        return max(c.ended_ms for c in self.inside()) if self.has_ended() else None

    def close(self):
        self._closing.set()
        for thread in self._deletion or ():
            thread.join(self.grace_s + 5)
        for container in self.containers:
            container.destroy()
        self._prober.join(5)


_GIVEN, _GIVING = set(), threading.Lock()


def free_ports(count):
    """Free ports below those that the kernel gives to outgoing connections.

    They belong to this run until return_ports(): a pod binds them later, and some of them never, so
    a port that is free may still belong to another pod.
    """
    found = []
    with _GIVING:
        for _ in range(200 * count):
            port = 20_000 + int.from_bytes(os.urandom(2), "big") % 12_000
            if port not in _GIVEN and _is_free(port):
                _GIVEN.add(port)
                found.append(port)
            if len(found) == count:
                break
    return found


def return_ports(ports):
    with _GIVING:
        _GIVEN.difference_update(ports)


def _is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
