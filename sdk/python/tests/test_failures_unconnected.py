"""What the log says of a failure that cannot be reported to any supervisor."""

import asyncio
import logging
import os
import subprocess
import sys

import pytest
from strict_supervisor import FakeSupervisor, eventually

import lastcall

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(params=["no socket", "nobody there"])
def without_supervisor(request, make_client):
    if request.param == "nobody there":
        return make_client()
    return lastcall.Client("test", socket="")


def critical_lines(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno == logging.CRITICAL]


def test_a_report_is_in_the_log(without_supervisor, caplog):
    assert without_supervisor.report_fatal("CUDA error", "line 1\nline 2", timeout=0) is False
    expected = "fatal, and no lastcall supervisor is connected: CUDA error\nline 1\nline 2"
    assert critical_lines(caplog) == [expected]


def test_a_guarded_block_is_in_the_log(without_supervisor, caplog):
    with pytest.raises(KeyError):
        with without_supervisor.guard("scheduler"):
            raise KeyError("boom")
    [line] = critical_lines(caplog)
    assert "scheduler failed: KeyError\nTraceback" in line and "boom" in line


def test_a_watched_task_is_in_the_log(without_supervisor, caplog):
    async def engine_loop():
        raise RuntimeError("CUDA error")

    async def main():
        without_supervisor.watch(asyncio.ensure_future(engine_loop()), "engine loop")
        while not critical_lines(caplog):
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 20))
    [line] = critical_lines(caplog)
    assert "engine loop failed: RuntimeError\nTraceback" in line and "engine_loop" in line


def test_a_child_process_is_in_the_log_while_nobody_is_there(client, caplog):
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as child:
        client.watch(child, "worker")
        eventually(lambda: critical_lines(caplog))
    assert critical_lines(caplog)[0].endswith("worker died\n" + f"pid {child.pid} exited with 3")


def test_a_failure_is_sent_too_as_soon_as_a_supervisor_is_there(path, client, caplog):
    client.report_fatal("CUDA error", timeout=0)
    with FakeSupervisor(path) as fake:
        assert fake.wait("fatal")["reason"] == "CUDA error"
        eventually(lambda: client.connected)
        client.report_fatal("again", timeout=0)
    assert len(critical_lines(caplog)) == 1  # the supervisor's log has the rest


def test_by_default_it_reaches_the_standard_error_output():
    code = "import lastcall; lastcall.connect().report_fatal('CUDA error')"
    environment = {**os.environ, "PYTHONPATH": SDK}
    environment.pop("LASTCALL_SOCKET", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert done.stderr == "fatal, and no lastcall supervisor is connected: CUDA error\n"
