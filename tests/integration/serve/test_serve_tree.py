"""An engine of more than one process: behind a shell, and one that loses a part."""

import os
import signal
import sys
import time

import pytest
from serve_peer import PATIENCE, wait_until

# Reports that it is there; on its signal it cleans up for a while, and reports it.
SLOW_TO_END = """
import pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
def end(*_):
    (place / "asked").touch()
    time.sleep(1.5)
    (place / "file").unlink()
    (place / "cleaned").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
(place / "file").touch()
(place / "ready").touch()
while True:
    time.sleep(0.1)  # a signal that comes just before a pause() would not end that
"""

# A server with two cores: on TERM it asks both, one ends at once, and it waits for the other.
WITH_TWO_CORES = """
import ctypes, os, pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
def start(name, end):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, end)
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
        while True:
            time.sleep(1000)
    return pid
def end_late(*_):
    time.sleep(4)
    (place / "flushed").touch()
    os._exit(0)
cores = [start(b"core_0", signal.SIG_DFL), start(b"core_1", end_late)]
def end(*_):
    for core in cores:
        os.kill(core, signal.SIGTERM)
    for core in cores:
        os.waitpid(core, 0)
    while "lingers" in sys.argv:
        time.sleep(1000)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
(place / "core").write_text(str(cores[1]))
(place / "ready").touch()
while True:
    time.sleep(0.1)  # a signal that comes just before a pause() would not end that
"""

# A server with a core below it, both of the same program: the core has a name of its own.
WITH_CORE = """
import ctypes, os, pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
if "lingers" in sys.argv:  # as vLLM's server does, which waits for its open connections
    signal.signal(signal.SIGTERM, lambda *_: os.kill(core, signal.SIGTERM))
core = os.fork()
if core == 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(15, b"core_0", 0, 0, 0)
    time.sleep(1000)
(place / "core").write_text(str(core))
(place / "ready").touch()
while True:
    time.sleep(1000)
"""


def serving(one, place):
    wait_until(lambda: os.path.exists(place / "ready"), "the engine is up")
    one.wait_for_log('"phase begun","phase":"serving"')


def test_an_engine_behind_a_shell_ends_by_itself_within_its_grace(world, tmp_path):
    (tmp_path / "engine.py").write_text(SLOW_TO_END)
    one = world(cleanup={"paths": [str(tmp_path / "cleaned")]})
    process = one.run("bash", "-c",
                      f"export A=1; {sys.executable} {tmp_path}/engine.py {tmp_path}; echo after")
    serving(one, tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    assert not os.path.exists(tmp_path / "file"), "it had the time to clean up"
    assert not os.path.exists(tmp_path / "cleaned"), "files are removed when nobody is left"
    report = one.report()
    assert report["cleanup"]["engine"]["ms"] >= 1400
    assert report["engine"]["signal"] == signal.SIGTERM
    assert report["engine"]["left_behind"]["alive"] == 0
    assert [name for name in report["engine"]["left_behind"]["names"] if "python" in name]
    assert not one.processes_left()


def test_a_shell_that_traps_the_signal_leaves_its_engine_the_same_grace(world, tmp_path):
    (tmp_path / "engine.py").write_text(SLOW_TO_END)
    one = world(engine={"kind": "vllm"}, health={"checks": []}, shutdown={"drain_unknown": "0s"})
    process = one.run("bash", "-c", "trap 'kill -TERM $pid; exit 0' TERM; "
                      f"{sys.executable} {tmp_path}/engine.py {tmp_path} & pid=$!; wait")
    serving(one, tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    assert os.path.exists(tmp_path / "cleaned"), "it ended by itself"
    report = one.report()
    assert report["engine"]["code"] == 0
    assert report["cleanup"]["engine"]["ms"] >= 1400


def test_workers_whose_server_is_gone_are_not_waited_for(world):
    one = world(shutdown={"grace_period": "60s", "drain_unknown": "0s"})
    process = one.run_engine("--core", "--leak-workers", "--workers-ignore-term")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    report = one.report()
    assert report["engine"]["code"] == 0
    assert report["engine"]["left_behind"] == {"names": ["VLLM::EngineCore"], "alive": 0}
    assert report["cleanup"]["engine"]["ms"] < 6_000, "others of the tree have 10 s"
    assert not one.processes_left()


def test_a_list_of_files_costs_no_second_where_nobody_is_left(world, tmp_path):
    one = world(cleanup={"paths": [str(tmp_path / "x")]})
    process = one.run("/bin/sleep", "3600")
    one.wait_for_log('"phase begun","phase":"serving"')
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    assert one.report()["phases"]["cleaning_up"]["ms"] < 900


def grown(core):
    """A process that lived for less than 5 s is not a part that the engine needs."""
    until = time.monotonic() + 6
    wait_until(lambda: time.monotonic() > until, "it is no helper", patience=30)
    return core


def test_a_server_that_outlives_its_core_is_not_waited_for_until_the_deadline(world, tmp_path):
    (tmp_path / "engine.py").write_text(WITH_CORE)
    one = world(engine={"essential_processes": ["core*"]},
                shutdown={"grace_period": "120s", "drain_unknown": "0s"})  # fmt: skip
    process = one.run(sys.executable, str(tmp_path / "engine.py"), str(tmp_path), "lingers")
    serving(one, tmp_path)
    grown(int((tmp_path / "core").read_text()))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    report = one.report()
    assert report["engine"]["signal"] == signal.SIGKILL
    assert report["time_left_ms"] > 60_000
    assert report["cleanup"]["engine"]["ms"] < 9_000  # less than what others of the tree have


@pytest.mark.parametrize("then", ["ends", "lingers"])
def test_a_server_is_waited_for_while_one_of_its_cores_still_ends(world, tmp_path, then):
    (tmp_path / "engine.py").write_text(WITH_TWO_CORES)
    one = world(engine={"essential_processes": ["core*"]},
                shutdown={"grace_period": "120s", "drain_unknown": "0s"})  # fmt: skip
    process = one.run(sys.executable, str(tmp_path / "engine.py"), str(tmp_path), then)
    serving(one, tmp_path)
    grown(int((tmp_path / "core").read_text()))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    assert os.path.exists(tmp_path / "flushed"), "the second core had its time"
    report = one.report()
    assert report["time_left_ms"] > 60_000
    assert report["engine"].get("code") == (0 if then == "ends" else None)
    assert report["engine"].get("signal") == (None if then == "ends" else signal.SIGKILL)
    reported = [record["msg"] for record in one.records() if record["level"] == "WARNING"]
    assert "a process of the engine ended by itself" not in reported, "they followed our signal"


def test_death_of_an_essential_process_is_fatal_at_once_and_named(world, tmp_path):
    (tmp_path / "engine.py").write_text(WITH_CORE)
    one = world(engine={"essential_processes": ["core*"]})
    process = one.run(sys.executable, str(tmp_path / "engine.py"), str(tmp_path))
    serving(one, tmp_path)
    core = grown(int((tmp_path / "core").read_text()))
    os.kill(core, signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 1, one.log()
    report = one.report()
    assert report["cause"] == "dead"
    assert report["detail"].startswith(f"core_0, pid {core}, vanished 0.")
    assert report["detail"].endswith("(killed by signal 9)")
