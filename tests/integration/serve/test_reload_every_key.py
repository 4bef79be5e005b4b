"""Every key of the schema, and each list, is changed in turn and reloaded: a key that the reference
calls live reaches the core, every other one is refused by its name, and nothing else happens."""

import copy
import json
from pathlib import Path

from serve_world import SLEEPER

DOCS = Path(__file__).resolve().parents[3] / "docs"
CHECKS = [{"name": name, "exec": {"command": ["/bin/true"]}} for name in ("a", "b")]
HOOK = {"name": "h", "command": ["/bin/true"]}
HTTP = {"http": {"url": "http://127.0.0.1:9/", "headers": ["X-Key: one"]}}
BASE = {
    "identity": {"advertise": "http://10.0.0.7:8000"},
    "engine": {"kind": "vllm", "url": "http://127.0.0.1:9"},
    "health": {"checks": CHECKS, "stalled_after": "30s"},
    "cleanup": {"hooks": [HOOK]},
    "discovery": [HTTP],
    "endpoints": [{"name": "/v1/x"}],
    "ingress": {"listen": "127.0.0.1:0", "upstream": "127.0.0.1:9",
                "control_paths": {"token": "t", "paths": [{"path": "/q"}]}},
    "admission": {"engine_request_limit": 7, "http_api": True, "http_token": "t"},
    "log": {"level": "debug"},
}  # fmt: skip
# Sections in lists: one added, one changed, another order, a secret, none.
LISTS = {
    "health.checks": [CHECKS[:1], CHECKS[::-1], [{**CHECKS[0], "failure_threshold": 5}, CHECKS[1]],
                      [{"name": "a", "ipc": {}}, CHECKS[1]], []],
    "cleanup.hooks": [[HOOK, {**HOOK, "name": "i"}], [{**HOOK, "timeout": "1s"}], []],
    "discovery": [[HTTP, {"ipc": {}}], [{"name": "other", **HTTP}],
                  [{"http": {**HTTP["http"], "headers": ["X-Key: two"]}}], []],
    "endpoints": [[{"name": "/v1/x", "graceful_shutdown": False}], []],
    "ingress.control_paths.paths": [[{"path": "/q", "access": "relay"}], []],
}  # fmt: skip
# They are valid only with a file or another key beside them.
NOT_ALONE = {
    *(f"events.nats.{key}" for key in ("password_file", "cert_file", "key_file")),
    *(f"ingress.tls.{key}" for key in ("cert_file", "key_file", "client_ca_file")),
    "ingress.control_paths.certificates",
}
TEXTS = ["1s", "2s", "3s", "1m", "http://127.0.0.1:9/x", "nats://127.0.0.1:9", "127.0.0.1:0",
         "127.0.0.1:1", "unix:/tmp/x", "SIGINT", "/tmp/abc/x", "10.0.0.0/8", "0600", "X-A: b",
         "TLS_AES_128_GCM_SHA256", "aaa"]  # fmt: skip
EVENTS = {"health_limits_changed", "admission_limits_changed", "load_thresholds_changed"}


def live_keys():
    lines = (DOCS / "config.md").read_text().splitlines()
    return {line.split("`")[1] for line in lines if line.endswith("**live** |")}


def keys_of(schema, path=()):
    for name, node in schema.get("properties", {}).items():
        if "object" in node.get("type", []) and "properties" in node:
            yield from keys_of(node, (*path, name))
        else:
            yield (*path, name), node


def candidates(node):
    """Values of which the configuration accepts at least one."""
    kinds = node.get("type", [])
    if "enum" in node:
        return node["enum"]
    if "boolean" in kinds:
        return [True, False]
    if "integer" in kinds:
        return [node["minimum"] + more for more in (1, 2, 500, 1 << 20)]
    if "number" in kinds:
        return [0.5]
    if "array" in kinds:
        return [[one] for one in candidates(node["items"])]
    return TEXTS if "string" in kinds else ["any"]


def changed(path, value):
    config = copy.deepcopy(BASE)
    section = config
    for name in path[:-1]:
        section = section.setdefault(name, {})
    is_new = section.get(path[-1]) != value
    section[path[-1]] = value
    return config if is_new else None


class Reloads:
    def __init__(self, one):
        self.one = one
        self.operator = one.operator()
        self.basis = copy.deepcopy(one.config)
        self.read = 0  # bytes of the log
        self.last = {}  # by event

    def to(self, config):
        """The keys that were applied and refused; None if the configuration is not valid."""
        self.one.config = {**self.basis, **copy.deepcopy(config)}
        for name in ("shutdown", "health", "probes", "ipc"):
            self.one.config[name] = {**self.basis.get(name, {}), **config.get(name, {})}
        self.one.write_config()
        result = self.operator.ask("reload")
        if not result["ok"]:
            return None
        return tuple([entry["key"] for entry in result[of]] for of in ("applied", "refused"))

    def in_core(self):
        """What the core received last, by event."""
        with open(self.one.path("log"), "rb") as log:
            log.seek(self.read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.read += len(whole)
        for line in whole.splitlines():
            if b'"msg":"step"' in line and b"_changed" in line:
                event = json.loads(line)["event"]
                if event["type"] in EVENTS:
                    self.last[event["type"]] = event
        return dict(self.last)


def one_by_one(reloads, path, values):
    """What each value led to; values that are not valid here are left out."""
    results = []
    for value in values:
        config = changed(path, value)
        result = config and reloads.to(config)
        if result and result != ([], []):  # else it is the default
            results.append(result)
            if ".".join(path) not in LISTS:
                break
    return results


def test_every_key_is_applied_or_refused_by_its_name(world):
    one = world(**BASE)
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    reloads = Reloads(one)
    assert reloads.to(BASE) == ([], [])
    live, wrong, untried = live_keys(), {}, set()
    for path, node in keys_of(json.loads((DOCS / "config.schema.json").read_text())):
        key = ".".join(path)
        before = reloads.in_core() if key in live else None
        results = one_by_one(reloads, path, LISTS.get(key) or candidates(node))
        expected = ([key], []) if key in live else ([], [key])
        if not results:
            untried.add(key)
        if any(result != expected for result in results):
            wrong[key] = results
        if key in live:
            if key != "log.level" and reloads.in_core() == before:
                wrong[key] = "it did not reach the core"
            assert reloads.to(BASE) == expected, key
    assert (wrong, untried) == ({}, NOT_ALONE)
    assert len(live) >= 14
    assert one.status()["phase"] == "serving"
