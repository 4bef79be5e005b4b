"""A real vLLM for CPUs below `lastcall run`, and what asks it. tests/engines/run.sh prepares it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/serve"))

from ports import free_port  # noqa: E402

BUILD = os.path.abspath(os.environ.get("LASTCALL_BUILD_DIR", os.path.join(HERE, "../../build/dev")))
LASTCALL = os.path.join(BUILD, "supervisor/cli/lastcall")
ENGINES = os.path.abspath(
    os.environ.get("LASTCALL_ENGINES", os.path.join(HERE, "../../build/engines"))
)
LOADING = 900.0  # seconds that an engine may take to load on a busy machine
PATIENCE = 120.0
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}


def pytest_configure(config):
    config.addinivalue_line("markers", "engine_flags: what the engine is started with besides")


def wait_until(is_so, what, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < deadline, f"not in {patience} s: {what}"
        time.sleep(0.05)


class Answer:
    """One completion, streamed or whole, read by a thread of its own."""

    def __init__(self, port, model, tokens, prompt="once", stream=True):
        self.text = ""
        self.status = None
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LOADING)
        body = {"model": model, "prompt": prompt, "max_tokens": tokens, "ignore_eos": True}
        body["stream"] = stream
        self.connection.request(
            "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"}
        )
        self.socket = self.connection.sock
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        try:
            response = self.connection.getresponse()
            self.status = response.status
            while data := response.read1(65536):
                self.text += data.decode(errors="replace")
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.text += f"<{error!r}>"

    def events(self):
        return self.text.count("data: ")

    def leave(self):
        """The client closes the connection in the middle of the answer."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(2)

    def finished(self, patience=LOADING):
        self._reader.join(patience)
        assert not self._reader.is_alive(), self.text[-2000:]
        return self.text


class Engine:
    """vLLM below `lastcall run`; everything that is written goes into one directory."""

    def __init__(self, directory, model, *flags, config=None, ingress=False, environment=None):
        self.directory = str(directory)
        self.model = os.path.join(ENGINES, model)
        self.port, self.engine_port, self.ingress_port = free_port(), free_port(), free_port()
        self.config = {
            "engine": {"kind": "vllm", "url": f"http://127.0.0.1:{self.engine_port}"},
            "probes": {"listen": f"127.0.0.1:{self.port}"},
            "ipc": {
                "socket": self.path("l.sock"),
                "admin_socket": os.path.join(self.directory, "a", "a.sock"),
            },
            "health": {"checks": [{"name": "engine", "http": {
                "url": f"http://127.0.0.1:{self.engine_port}/health"}, "timeout": "1s"}]},
            "shutdown": {"grace_period": "60s"},
        }  # fmt: skip
        for section, keys in (config or {}).items():
            self.config.setdefault(section, {}).update(keys)
        if ingress:
            self.config["ingress"] = {"listen": f"127.0.0.1:{self.ingress_port}"}
        with open(self.path("lastcall.yaml"), "w", encoding="utf-8") as file:
            json.dump(self.config, file)
        self._log = open(self.path("log"), "wb", buffering=0)  # noqa: SIM115
        self.process = subprocess.Popen(
            (LASTCALL, "run", "--config", self.path("lastcall.yaml"), "--",
             os.path.join(ENGINES, "venv/bin/vllm"), "serve", self.model,
             "--load-format", "dummy", "--dtype", "float32", "--enforce-eager",
             "--port", str(self.engine_port), *flags),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
            env={**os.environ, **QUIET, **(environment or {}),
                 "LASTCALL_TERMINATION_LOG": self.path("none")},
        )  # fmt: skip
        try:
            self._await_serving()
        except BaseException:
            self.close()
            raise

    def _await_serving(self):
        wait_until(lambda: '"phase begun","phase":"serving"' in self.log() or self.ended(),
                   "serving", LOADING)  # fmt: skip
        assert not self.ended(), self.log()[-4000:]

    def path(self, name):
        return os.path.join(self.directory, name)

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ended(self):
        return self.process.poll() is not None

    def report(self):
        found = []
        for line in self.log().split("\n"):
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and "report" in record:
                    found.append(record["report"])
        [report] = found
        return report

    def get(self, path, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def ask(self, tokens, prompt="once", stream=True, port=None):
        return Answer(port or self.engine_port, self.model, tokens, prompt, stream)

    def gauge(self, name):
        _, text = self.get("/metrics", self.engine_port)
        return sum(
            float(line.rsplit(" ", 1)[1])
            for line in text.splitlines()
            if line.startswith(name + "{") or line.startswith(name + " ")
        )

    def tree(self):
        """(pid, command line) of our own process and all below it, parents first."""
        children, words = {}, {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/stat", encoding="latin-1") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{entry}/cmdline", encoding="latin-1") as file:
                    words[int(entry)] = file.read()
                children.setdefault(parent, []).append(int(entry))
        found = [self.process.pid]
        for pid in found:
            found += children.get(pid, [])
        return [(pid, words.get(pid, "")) for pid in found]

    def core(self):
        """The pid of the engine's core below our own process."""
        for pid, words in self.tree():
            if words.startswith("VLLM::EngineCore"):
                return pid
        raise AssertionError("no engine core is running")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LOADING)

    def close(self):
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=90)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError):
                    os.killpg(self.process.pid, signal.SIGKILL)
        self._log.close()


@pytest.fixture
def vllm(tmp_path):
    started = []

    def start(model="small", *flags, **options):
        started.append(Engine(tmp_path, model, *flags, **options))
        return started[-1]

    yield start
    for engine in started:
        with contextlib.suppress(Exception):
            os.kill(engine.core(), signal.SIGCONT)
        engine.close()
