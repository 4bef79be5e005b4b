"""What the adapters of lastcall share: its programs, and a configuration of addresses alone.

Every budget has its default: what the table shows is what a user gets.
"""

import json
import os
import shutil
import subprocess

from adapter import ROOT

TOLD = "the chart tells both containers of the pod's grace"


def program(name, folder):
    built = ROOT / os.environ.get("LASTCALL_BUILD_DIR", "build/dev") / folder / name
    return str(built) if built.exists() else shutil.which(name) or str(built)


LASTCALL = program("lastcall", "supervisor/cli")
SHIM = program("lastcall-shim", "shim")


# Why a form of lastcall does not hold a scenario, where nothing in it could: the table shows it.
NOBODY_IN_THE_WAY = ("nobody of lastcall's is in the way of the stream, so that nobody can write "
                     "into it; the ingress and the middleware can")
DIED_WITH_IT = "whoever would tell the client is in the process that died; the ingress is not"
GRACE_OF_TEN = ("of 10 s the kubelet keeps 2, the cleanup up to 4 and a cancel 1, so that requests "
                "have 3; `shutdown.cleanup_reserve` can be lowered, and of 30 s they have 23")
CARRIES_STREAMS = ("the ingress carries the streams, so that they die with its process, as in any "
                   "proxy; with the middleware or by gauges nobody is in the way")
LATE_AT_THE_END = ("without ingress or SDK nobody can refuse a request that comes when the drain "
                   "is over, and the engine's stop cuts it")
WITHOUT_A_VOICE = {
    "six-of-ten": GRACE_OF_TEN, "long-stream": NOBODY_IN_THE_WAY, "long-unary": NOBODY_IN_THE_WAY,
    "death-is-told": NOBODY_IN_THE_WAY, "very-late-request": LATE_AT_THE_END,
}  # fmt: skip


def describe(title, known=None, **cannot):
    facts = {"title": title, "cannot": cannot, "known": known or {}}
    if not os.path.exists(LASTCALL):
        facts["missing"] = "lastcall is not built: ./dev build"
    return facts


def version():
    return subprocess.run([LASTCALL, "version"], capture_output=True, text=True).stdout.strip()


class LastcallPod:
    def __init__(self, request, kind="vllm"):
        self.request, self.probes = request, request["ports"][0]
        folder = request["dir"]
        self.socket, self.admin = f"{folder}/s/l.sock", f"{folder}/a/a.sock"
        self.config = {
            "engine": {"kind": kind, "url": f"http://127.0.0.1:{request['engine_port']}"},
            "probes": {"listen": f"127.0.0.1:{self.probes}"},
            "ipc": {"socket": self.socket, "admin_socket": self.admin},
        }

    def write(self):
        path = self.request["dir"] + "/lastcall.yaml"
        with open(path, "w") as file:
            json.dump(self.config, file)  # which is YAML, too
        return path

    def environment(self, **more):
        if self.request["stated"]:
            more["LASTCALL_POD_GRACE_SECONDS"] = str(self.request["grace_s"])
        return more

    def answer(self, containers, entry=None, helper="engine"):
        call = [LASTCALL, "{}", "--admin-socket", self.admin]
        return {
            "entry": entry or self.request["engine_port"],
            "ready": [f"http://127.0.0.1:{self.probes}/readyz"],
            "containers": containers,
            "helper": {"container": helper, "command": "lastcall serve"},
            "operator": {v: [word.format(v) for word in call] for v in ("drain", "resume")},
            "cut_keys": ["report.requests.migrated", "report.in_flight_at_end",
                         "requests.migrated", "in_flight_at_end"],
        }  # fmt: skip

    def run(self, engine, **environment):
        return {"name": "engine", "argv": [LASTCALL, "run", "--config", self.write(), "--", engine],
                "env": self.environment(**environment)}  # fmt: skip

    def pair(self, engine):
        """The chart's form: the shim is PID 1 beside the engine, `serve` a native sidecar."""
        sidecar = [SHIM, "--restart", LASTCALL, "--", "serve", "--config", self.write()]
        return [
            {"name": "lastcall", "argv": sidecar, "env": self.environment(),
             "native_sidecar": True},
            {"name": "engine", "argv": [SHIM, "--socket", self.socket, "--", engine],
             "env": self.environment()},
        ]  # fmt: skip
