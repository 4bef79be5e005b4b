"""What adapters of NVIDIA Dynamo share: a frontend outside of the pod, and a mocked worker in it.

The worker is Dynamo's own (`dynamo.mocker`), so scenarios that need the kit's lying engine do not
apply. One worker: with a second one its frontend may continue streams there (`--migration-limit`).
"""

import os

import adapter

PYTHON = str(adapter.CACHE / "dynamo/bin/python")
MODEL = str(adapter.CACHE / "model")
LYING = "the worker is Dynamo's own: the lying engine cannot stand in its place"
LIMITS = "its limits are of tokens and blocks that the mocked engine does not fill"


def describe(title, **cannot):
    facts = {
        "title": title,
        "cannot": {"lying engine": LYING, "admission": LIMITS, **cannot},
    }  # fmt: skip
    if not (adapter.CACHE / "dynamo/installed").exists():
        facts["missing"] = "Dynamo is not installed: ./dev conformance --install"
    return facts


class DynamoPod:
    def __init__(self, request):
        self.request, self.entry, self.system = request, request["ports"][4], request["ports"][5]
        self.environment = {
            "DYN_FILE_KV": request["dir"] + "/kv", "DYN_DISCOVERY_BACKEND": "file",
            "DYN_REQUEST_PLANE": "tcp", "DYN_EVENT_PLANE": "zmq", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        os.makedirs(self.environment["DYN_FILE_KV"], exist_ok=True)

    def worker(self):
        """At 36 ms a token its speed is 0.16: measured, and in proportion."""
        speed = 5.8 / self.request["token_ms"]
        return [PYTHON, "-m", "dynamo.mocker", "--model-path", MODEL, "--model-name", "kit",
                "--discovery-backend", "file", "--speedup-ratio", f"{speed:.3f}"]  # fmt: skip

    def worker_environment(self, **more):
        return {**self.environment, "DYN_SYSTEM_PORT": str(self.system),
                "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]', **more}  # fmt: skip

    def answer(self, engine, **more):
        frontend = {
            "name": "frontend", "outside": True, "env": self.environment,
            "argv": [PYTHON, "-m", "dynamo.frontend", "--http-port", str(self.entry),
                     "--discovery-backend", "file"],
        }  # fmt: skip
        return {
            "entry": self.entry, "words_are_tokens": False,
            "ready": [f"http://127.0.0.1:{self.system}/health",
                      f"http://127.0.0.1:{self.entry}/health"],
            "containers": [engine, frontend], **more,
        }  # fmt: skip
