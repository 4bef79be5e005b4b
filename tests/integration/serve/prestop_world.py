"""An unmodified engine in preStop mode, and the kubelet that calls the hooks."""

import contextlib
import http.client
import json
import subprocess
import sys
import threading

from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import ENGINE_SIM, World

ENGINE_HOOK = "/lifecycle/prestop/engine"
SUPERVISOR_HOOK = "/lifecycle/prestop/supervisor"
TOKEN = "the-kubelet"


class Call(threading.Thread):
    """One call of a hook, in a thread of its own."""

    def __init__(self, port, path, token=None, host="127.0.0.1", source=None):
        super().__init__(daemon=True)
        self.host, self.port, self.path, self.token = host, port, path, token
        self.source = source and (source, 0)
        self.status = self.body = None

    def run(self):
        connection = http.client.HTTPConnection(
            self.host, self.port, timeout=4 * PATIENCE, source_address=self.source
        )
        headers = {"X-Lastcall-Token": self.token} if self.token else {}
        with contextlib.suppress(OSError, http.client.HTTPException):  # a test that ends meanwhile
            connection.request("GET", self.path, headers=headers)
            response = connection.getresponse()
            self.body = json.loads(response.read())
            self.status = response.status
        connection.close()

    def result(self):
        self.join(4 * PATIENCE)
        assert self.status is not None, "the call has not returned"
        return self.body


class PrestopWorld(World):
    def __init__(self, directory, **config):
        super().__init__(directory, **config)
        self.hooks_port, self.engine_port = free_port(), free_port()
        url = f"http://127.0.0.1:{self.engine_port}"
        self.config["engine"] = {"kind": "vllm", "url": url, **self.config.get("engine", {})}
        self.config["lifecycle"] = {
            "enabled": True,
            "listen": f"127.0.0.1:{self.hooks_port}",
            "token": TOKEN,  # a test calls from within the pod
            **self.config.get("lifecycle", {}),
        }
        self.config["health"].setdefault(
            "checks", [{"name": "engine", "http": {"url": url + "/health"}, "timeout": "5s"}]
        )

    def engine(self, *flags):
        self.engine_process = subprocess.Popen(
            (sys.executable, ENGINE_SIM, "--port", str(self.engine_port), "--kind", "vllm", *flags),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        self.processes.append(self.engine_process)
        return self.engine_process

    def begin(self, *flags, **environment):
        self.engine(*flags)
        self.supervisor = self.serve(**environment)
        self.wait_for_log('"phase begun","phase":"serving"')

    def call(self, path=ENGINE_HOOK, token=TOKEN, host="127.0.0.1", source=None):
        call = Call(self.hooks_port, path, token, host, source)
        call.start()
        return call

    def wait_for_call(self, count=1):
        self.wait_for_log('"preStop called","container":"engine"', count)

    def end_engine(self):
        """Does what the kubelet does when preStop has returned."""
        self.engine_process.terminate()
        self.engine_process.wait(PATIENCE)

    def wait_for_livez(self, status):
        wait_until(lambda: self.get("/engine/livez")[0] == status, f"/engine/livez is {status}")
