"""What the adapters of lastcall share: its programs, and a configuration of only addresses.

Every budget has its default, so that the table shows what a user gets.
"""

import json
import os
import shutil
import subprocess

from adapter import ROOT

GRACE_IS_SET = "the chart sets the grace of both containers"


def program(name, folder):
    built = ROOT / os.environ.get("LASTCALL_BUILD_DIR", "build/dev") / folder / name
    return str(built) if built.exists() else shutil.which(name) or str(built)


LASTCALL = program("lastcall", "supervisor/cli")
SHIM = program("lastcall-shim", "shim")


# Reasons why a form of lastcall cannot hold a scenario; the page of the table shows them.
NOT_IN_THE_PATH = ("without ingress and SDK no part of lastcall is in the path of the stream, so "
                   "that none can write an error into it")
SDK_DIES_TOO = ("the SDK, which would notify the client, is in the process that died; the ingress "
                "is not")
GRACE_OF_TEN = ("of 10 s, 2 are a margin before the kubelet's KILL, 4 are reserved for the "
                "cleanup and 1 for cancelling, so that 3 are left for requests; of 30 s, 23 are "
                "left, and `shutdown.cleanup_reserve` can be lowered")
CARRIES_STREAMS = ("the ingress carries the streams, so that they die with its process, as in any "
                   "proxy; with the middleware or gauges alone there is no proxy")
NO_REFUSALS = ("without ingress or SDK lastcall cannot refuse a request that comes after the "
               "drain, and the engine's stop cuts it")
WITH_GAUGES = {
    "six-second-stream": GRACE_OF_TEN, "stream-exceeds-grace": NOT_IN_THE_PATH,
    "unary-exceeds-grace": NOT_IN_THE_PATH, "engine-dies-mid-stream": NOT_IN_THE_PATH,
    "very-late-request": NO_REFUSALS,
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
            json.dump(self.config, file)  # JSON is YAML, too
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
        """The chart's form: the shim is the engine's PID 1, and `serve` a native sidecar."""
        sidecar = [SHIM, "--restart", LASTCALL, "--", "serve", "--config", self.write()]
        return [
            {"name": "lastcall", "argv": sidecar, "env": self.environment(),
             "native_sidecar": True},
            {"name": "engine", "argv": [SHIM, "--socket", self.socket, "--", engine],
             "env": self.environment()},
        ]  # fmt: skip
