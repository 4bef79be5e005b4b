"""A pod as Kubernetes makes it, made by hand of podman's containers.

Each container has a PID namespace of its own; they share the network and the volumes. Roots are
read-only, no container has a capability. What podman cannot show is left to the Kubernetes rung:
probes, hooks, grace, restarts by the kubelet.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import yaml
from client import Client, wait_until

TAG = os.environ.get("LASTCALL_E2E_TAG", "e2e")
UID = 65532
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py")
CONFIG = {
    "engine": {"kind": "custom"},
    "shutdown": {
        "grace_period": "20s",
        "deregister_timeout": "500ms",
        "late_accept": "100ms",
        "cleanup_reserve": "4s",
        "cancel_settle": "1s",
    },
    "health": {
        "interval": "500ms",
        "checks": [
            {"name": "engine", "http": {"url": "http://127.0.0.1:8000/health"}, "timeout": "500ms"}
        ],
    },
}
ENGINE = ("python3", "/opt/sim/tests/helpers/engine_sim.py", "--port", "8000", "--sdk")


def podman(*words, check=True, patience=60):
    done = subprocess.run(
        ["podman", *map(str, words)], capture_output=True, text=True, timeout=patience,
        cwd=tempfile.gettempdir(),  # where conmon leaves a file of its own after an OOM kill
    )  # fmt: skip
    assert not check or done.returncode == 0, f"podman {words}: {done.stderr}"
    return done.stdout.strip()


def why_not():
    """Why containers are impossible here; nothing: they are possible."""
    return os.environ.get("LASTCALL_E2E_SKIP", "./dev e2e podman makes the images of these tests")


class PodmanPod:
    """`supervisor` and `engine` are names of containers of this pod."""

    def __init__(self, engine_options=(), shim_options=(), engine_user=UID, share_pid=False,
                 group=UID, memory=None, restart="always", **config):  # fmt: skip
        self.name = f"lc-{uuid.uuid4().hex[:8]}"
        self.directory = tempfile.mkdtemp(prefix="lc-e2e-")
        self.engine_options = engine_options
        self.shim_options = shim_options
        self.engine_user, self.group = engine_user, group
        self.memory, self.restart = memory, restart
        self.config = {**CONFIG, **config}
        for name, mode in (("bin", 0o2777), ("run", 0o2777), ("admin", 0o700), ("etc", 0o755)):
            self._folder(name, mode)
        with open(self.path("etc/lastcall.yaml"), "w") as file:
            yaml.safe_dump(self.config, file)
        for name in ("engine", "supervisor"):
            open(self.path(f"message-{name}"), "w").close()
            os.chmod(self.path(f"message-{name}"), 0o666)
        shared = "net,ipc,uts,pid" if share_pid else "net,ipc,uts"
        podman("pod", "create", "--name", self.name, "--exit-policy", "continue",
               "--share", shared, "--network", "none")  # fmt: skip
        podman("pod", "start", self.name)
        infra = podman("pod", "inspect", self.name, "--format", "{{.InfraContainerID}}")
        pid = podman("inspect", infra, "--format", "{{.State.Pid}}")
        self.client = Client(["nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, AGENT])

    def _folder(self, name, mode):
        os.mkdir(self.path(name))
        os.chown(self.path(name), UID, self.group)
        os.chmod(self.path(name), mode)

    def path(self, name):
        return os.path.join(self.directory, name)

    def container(self, name):
        return f"{self.name}-{name}"

    def _run(self, name, image, *words, mounts=(), options=()):
        volumes = [f"--volume={self.path(source)}:{target}" for source, target in mounts]
        log = f"--volume={self.path('message-' + name)}:/dev/termination-log"
        podman("run", "--detach", "--pod", self.name, "--name", self.container(name), log,
               "--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt",
               "no-new-privileges", "--env", "LASTCALL_POD_GRACE_SECONDS=22", "--tmpfs", "/tmp",
               *volumes, *options, f"localhost/{image}:{TAG}", *words)  # fmt: skip

    def install(self):
        podman("run", "--rm", "--network", "none", "--read-only", "--cap-drop", "all", "--user",
               UID, f"--volume={self.path('bin')}:/opt/lastcall",
               f"localhost/lastcall-shim:{TAG}")  # fmt: skip

    def start_supervisor(self):
        self._run(
            "supervisor", "lastcall",
            mounts=[("run", "/run/lastcall"), ("admin", "/run/lastcall-admin"),
                    ("etc", "/etc/lastcall:ro")],
            options=["--user", f"{UID}:{self.group}", "--restart", self.restart],
        )  # fmt: skip

    def start_engine(self, command=None):
        limits = ["--memory", self.memory] if self.memory else []
        self._run(
            "engine", "lastcall-e2e", "--socket", "/run/lastcall/lastcall.sock",
            *self.shim_options, "--", *(command or (*ENGINE, *self.engine_options)),
            mounts=[("bin", "/opt/lastcall:ro"), ("run", "/run/lastcall")],
            options=["--user", f"{self.engine_user}:{self.group}",
                     "--entrypoint", "/opt/lastcall/lastcall-shim", *limits],
        )  # fmt: skip

    def start(self):
        self.install()
        self.start_supervisor()
        self.start_engine()
        self.wait_ready()
        return self

    # --- looking

    def url(self, path, port=8000):
        return f"http://127.0.0.1:{port}{path}"

    def probe(self, path):
        return self.client.get(self.url(path, 7090))

    def wait_ready(self):
        wait_until(lambda: self.probe("/readyz")[0] == 200, "ready: " + self.name)

    def status(self):
        text = podman("exec", self.container("supervisor"), "lastcall", "status", "-o", "json")
        return json.loads(text)

    def log(self, name):
        done = subprocess.run(["podman", "logs", self.container(name)], capture_output=True,
                              text=True, timeout=60)  # fmt: skip
        return done.stdout + done.stderr

    def records(self):
        """What the supervisor logged, every life of it."""
        lines = self.log("supervisor").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def reports(self):
        return [record["report"] for record in self.records() if "report" in record]

    def events(self, kind):
        """Instants (CLOCK_MONOTONIC, ms) of the core's events; needs log level debug."""
        steps = [record for record in self.records() if record["msg"] == "step"]
        return [step["at_ms"] for step in steps if step["event"]["type"] == kind]

    def message(self, name):
        with open(self.path(f"message-{name}")) as file:
            return file.read()

    def state(self, name):
        return json.loads(podman("inspect", self.container(name)))[0]["State"]

    def exit_code(self, name, patience=60):
        """Waits for the container's end."""
        return int(podman("wait", "--interval", "50ms", self.container(name), patience=patience))

    # --- doing

    def signal(self, number, *names):
        """To all at once, as far as one command can."""
        podman("kill", "--signal", number, *map(self.container, names))

    def kill(self, name):
        """KILL for PID 1 as the kernel sends it: podman restarts what it did not end itself."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def pid(self, name):
        """Its PID 1's. While it is started podman has 0, to which a KILL would be for us all."""
        return wait_until(lambda: self.state(name)["Pid"], f"{name} runs")

    def kill_and_watch(self, name):
        """When its PID 1 had ended, as its pidfd reports: CLOCK_MONOTONIC, ms."""
        process = os.pidfd_open(self.pid(name))
        with os.fdopen(process, "rb", buffering=0):
            ended = select.poll()
            ended.register(process, select.POLLIN)
            signal.pidfd_send_signal(process, signal.SIGKILL)
            assert ended.poll(20_000), f"{name} does not end"
            return time.monotonic_ns() // 1_000_000

    def control(self, **settings):
        return self.client.post(self.url("/sim/control"), settings)

    def stream(self, path="/v1/chat/completions", **body):
        return self.client.stream(self.url(path), **body)

    def close(self):
        self.client.close()
        podman("pod", "rm", "--force", "--time", "0", self.name, check=False)
        shutil.rmtree(self.directory, ignore_errors=True)
