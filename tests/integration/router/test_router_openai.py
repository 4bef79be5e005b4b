"""Users of the `openai` packages see whole answers whatever happens to a worker meanwhile."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from ports import free_port
from router_world import static
from serve_peer import PATIENCE, wait_until
from serve_world import BUILD
from sim_fleet import answer

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.path.join(BUILD, "../tools"))
STREAMS, TOKENS = 50, 80


def installed(script, name):
    folder = os.path.join(TOOLS, name)
    done = subprocess.run([os.path.join(HERE, script), folder], capture_output=True, timeout=150,
                          text=True)  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"cannot install the package openai: {done.stderr.strip()[-300:]}")
    return folder


def command(name):
    if name == "python":
        folder = installed("openai_python.sh", "openai-python")
        return [sys.executable, os.path.join(HERE, "openai_streams.py")], folder
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = installed("../ingress/openai_package.sh", "openai")
    return ["node", os.path.join(HERE, "openai_streams.mjs")], folder


def strike(how, worker, engine_port):
    if how == "rollout":
        return os.kill(worker.process.pid, signal.SIGTERM)
    order = {"kill": {"crash": "kill"}, "freeze": {"hang": "process"}}[how]
    connection = http.client.HTTPConnection("127.0.0.1", engine_port, timeout=PATIENCE)
    connection.request("POST", "/sim/control", json.dumps(order))
    return None


def total(worker, family):
    """The sum of all series of a worker that belong to the family."""
    lines = worker.get("/metrics")[1].splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines
               if line.partition("{")[0].partition(" ")[0] == family)  # fmt: skip


@pytest.mark.parametrize("name", ["python", "npm"])
@pytest.mark.parametrize("how", ["rollout", "kill", "freeze"])
def test_all_answers_are_whole(router, world, how, name):
    program, folder = command(name)
    workers, ports = [], []
    for _ in range(2):
        ports.append(free_port())
        workers.append(world(
            ingress={"listen": f"127.0.0.1:{free_port()}", "upstream": f"127.0.0.1:{ports[-1]}"},
            shutdown={"grace_period": "6s", "hand_off": "early"},  # what has begun is cut
        ))  # fmt: skip
        workers[-1].run_engine("--rate", "10", port=ports[-1])  # eight seconds for all to begin
    addresses = [worker.config["ingress"]["listen"] for worker in workers]
    one = router(static(*addresses, model="sim"), migration={"stall": "2s"})
    users = subprocess.Popen(
        [*program, str(one.port), folder, str(STREAMS), str(TOKENS)], stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert users.stdout.readline() == "begun\n"
        strike(how, workers[0], ports[0])
        answers = json.loads(users.communicate(timeout=3 * PATIENCE)[0])
    finally:
        users.kill()
    assert [got["error"] for got in answers] == [None] * STREAMS
    assert {got["text"].rstrip() for got in answers} == {answer(TOKENS).rstrip()}
    assert all(len(got["ids"]) == 1 and got["finishes"] == ["length"] for got in answers)
    assert [got["usage"] for got in answers] == [[TOKENS]] * STREAMS
    # In a drain those that fit into its time stay, on a busy machine all of them.
    assert how == "rollout" or one.metric("lastcall_router_migrations_total", why_not="") > 0
    assert one.counts("dynamo_frontend_requests_total", STREAMS, status="success")
    assert one.metric("dynamo_frontend_requests_total") == STREAMS
    # The other worker has nothing left, and counts no user of the router.
    wait_until(lambda: total(workers[1], "dynamo_component_inflight_requests") == 0, "it is idle")
    assert total(workers[1], "dynamo_frontend_requests_total") == 0
    assert total(workers[1], "dynamo_component_requests_total") >= STREAMS / 2
