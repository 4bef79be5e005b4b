"""What adapters written in Python share: the two verbs, and where programs are found.

An adapter in any language does the same: see docs/conformance.md.
"""

import json
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# `./dev conformance --install` fetches what Debian does not have, into a folder outside of the
# tree.
CACHE = Path(os.environ.get("LASTCALL_CONFORMANCE_CACHE")
             or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
             / "lastcall-conformance")  # fmt: skip

NO_REQUESTS = "it knows processes, not requests"
NO_HELPER = "there is no process beside the engine"
NO_RESUME = "it has no drain that can be undone"


def main(describe, pod):
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb == "describe":
        answer = describe()
    elif verb == "pod":
        answer = pod(json.load(sys.stdin))
    else:
        sys.exit(f"usage: {sys.argv[0]} describe|pod")
    print(json.dumps(answer))


def missing(program):
    """For `describe`: nothing where the program is there."""
    return {} if shutil.which(program) else {"missing": f"{program} is not installed"}


def direct(request):
    """A pod whose clients reach the engine itself; the kubelet probes its /health."""
    port = request["engine_port"]
    return {"entry": port, "ready": [f"http://127.0.0.1:{port}/health"]}
