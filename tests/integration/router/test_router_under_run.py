"""A router as the command of `lastcall run`: which variables with secrets reach it."""

import contextlib
import http.client
import json

import pytest
from etcd_server import PASSWORD, guard
from ports import free_port
from router_world import Router
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL

QUICK_END = ("shutdown.late_accept=0s", "shutdown.drain_unknown=0s")
WORKER = json.dumps({"transport": {"http": "http://10.0.0.1:1"}, "model": "m"})


@pytest.fixture
def under_run(tmp_path):
    """Starts a router under `lastcall run`, with these variables, and ends it in order."""
    with contextlib.ExitStack() as opened:

        def start(variables, workers, **config):
            one = Router(tmp_path, workers, **config)
            opened.callback(one.close)
            opened.callback(lambda: one.process and one.stop())
            sets = [f"--set={each}" for each in QUICK_END]
            one.start(
                LASTCALL, "run", f"--set=probes.listen=127.0.0.1:{free_port()}",
                f"--set=ipc.socket={tmp_path}/a.sock", f"--set=ipc.admin_socket={tmp_path}/b.sock",
                *sets, "--", **variables,
            )  # fmt: skip
            return one

        yield start


@pytest.mark.parametrize(
    "variables",
    [
        {"LASTCALL_ROUTER_ETCD_PASSWORD": PASSWORD},
        {"LASTCALL_ROUTER_ETCD_PASSWORD": PASSWORD, "LASTCALL_ETCD_PASSWORD": "another"},
    ],
    ids=["alone", "beside the supervisor's"],
)
def test_a_router_under_run_gets_the_password_of_etcd_by_a_name_of_its_own(
    under_run, etcd, variables
):
    with contextlib.closing(etcd.gateway(token=guard(etcd))) as root:
        root.put("v1/instances/dynamo/backend/generate/1", WORKER)
    source = {"etcd": {"endpoints": etcd.urls, "username": "worker"}}
    one = under_run(variables, [source])
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "the worker is known")
    assert PASSWORD not in one.log()


def test_a_router_alone_takes_its_own_password_first_and_the_old_name_without_it(etcd, tmp_path):
    with contextlib.closing(etcd.gateway(token=guard(etcd))) as root:
        root.put("v1/instances/dynamo/backend/generate/1", WORKER)
    source = {"etcd": {"endpoints": etcd.urls, "username": "worker"}}
    for own, old in ((PASSWORD, "another"), ("", PASSWORD)):
        with contextlib.closing(Router(tmp_path, [source])) as one:
            one.start(LASTCALL_ROUTER_ETCD_PASSWORD=own, LASTCALL_ETCD_PASSWORD=old)
            wait_until(lambda it=one: it.metric("lastcall_router_workers") == 1, "it is known")


def test_the_token_for_thresholds_reaches_a_router_under_run(under_run):
    workers = [{"static": {"urls": ["http://10.0.0.1:1"], "model": "m"}}]
    one = under_run({"LASTCALL_ROUTER_TOKEN": "secret"}, workers, rejection={"http_api": True})
    body = json.dumps({"model": "m", "active_prefill_tokens_threshold": 8000})
    told = []
    for token in ("wrong", "secret"):
        there = http.client.HTTPConnection("127.0.0.1", one.operators_port, timeout=PATIENCE)
        with contextlib.closing(there):
            headers = {"Content-Type": "application/json", "X-Lastcall-Token": token}
            there.request("POST", "/busy_threshold", body, headers)
            told.append(there.getresponse().status)
    assert told == [403, 200]
