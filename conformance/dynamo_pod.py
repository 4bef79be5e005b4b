"""What adapters of NVIDIA Dynamo share: a frontend outside of the pod, and a worker in it.

The worker is the kit's, stopped by Dynamo's own code as dynamo.vllm is (dynamo_worker.py). It is
one process, so it cannot die in parts. One worker: with a second one the frontend may continue
streams there (`--migration-limit`).
"""

import os

import adapter

PYTHON = str(adapter.CACHE / "dynamo/bin/python")
MODEL = str(adapter.CACHE / "model")
LYING = "its worker is one process that knows few of the lying engine's flags"
LIMITS = "its limits are of tokens and blocks, which the kit's worker does not report"


def describe(title, **cannot):
    facts = {
        "title": title, "knobs": ["prefill_ms", "load_s"],
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
        """With the flags of the engine that it stands for."""
        program = str(adapter.ROOT / "conformance/dynamo_worker.py")
        return [PYTHON, "-B", program, MODEL, self.request["engine"][2:]]

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
            "entry": self.entry, "words_are_tokens": False, "request_ids": False,
            # Healthy alone, the frontend answers 404 until it has found the model.
            "startup": [{"url": f"http://127.0.0.1:{self.entry}/v1/models", "contains": '"kit"'}],
            "ready": [f"http://127.0.0.1:{self.system}/health",
                      f"http://127.0.0.1:{self.entry}/health"],
            "containers": [engine, frontend], **more,
        }  # fmt: skip
