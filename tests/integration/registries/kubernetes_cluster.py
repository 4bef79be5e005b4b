"""A stand-in for a cluster's API server, and supervisors that have it as their registry."""

import os
import sys

from certificates import Authority
from serve_world import SLEEPER

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../helpers"))
from api_server_sim import NAMESPACE, POD, UID, ApiServer  # noqa: E402


class Cluster:
    def __init__(self, directory, **how):
        self.authority = Authority(directory)
        self.token_file = directory / "token"
        self.token_file.write_text("token-1\n")
        self.api = ApiServer(self.authority.server_context("api"), "token-1", **how)
        self.registry = {
            "api_server": self.api.url,
            "ca_file": self.authority.certificate,
            "token_file": str(self.token_file),
        }

    def start(self, world, registry=None, pod=POD, uid=UID, with_engine=True, others=(),
              **shutdown):  # fmt: skip
        one = world(
            identity={"advertise": "http://10.0.0.7:8000"},
            shutdown={"grace_period": "20s", "deregister_timeout": "10s", **shutdown},
            discovery=[{"kubernetes": {**self.registry, **(registry or {})}}, *others],
        )
        pod_is = {"POD_NAME": pod, "POD_NAMESPACE": NAMESPACE, "LASTCALL_POD_UID": uid}
        if with_engine:
            one.process = one.run(*SLEEPER, **pod_is)
        else:
            one.config["health"]["checks"] = [
                {"name": "gate", "exec": {"command": ["/bin/true"]}}
            ]
            one.process = one.serve(**pod_is)
        return one

    def watched(self):
        return [path for method, path in self.api.requests if "watch=1" in path]
