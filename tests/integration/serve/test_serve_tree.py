"""An engine of more than one process: behind a shell, and one that loses a part."""

import os
import signal
import sys
import time

from serve_peer import PATIENCE, wait_until

# Says that it is there; on its signal it cleans up for a while, and says so.
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
    signal.pause()
"""

# A server with a core below it, both of the same program: the core has a name of its own.
WITH_CORE = """
import ctypes, os, pathlib, sys, time
place = pathlib.Path(sys.argv[1])
core = os.fork()
if core == 0:
    ctypes.CDLL(None).prctl(15, b"core_0", 0, 0, 0)
    time.sleep(1000)
(place / "core").write_text(str(core))
(place / "ready").touch()
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


def test_a_list_of_files_costs_no_second_where_nobody_is_left(world, tmp_path):
    one = world(cleanup={"paths": [str(tmp_path / "x")]})
    process = one.run("/bin/sleep", "3600")
    one.wait_for_log('"phase begun","phase":"serving"')
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0, one.log()
    assert one.report()["phases"]["cleaning_up"]["ms"] < 900


def test_death_of_an_essential_process_is_fatal_at_once_and_named(world, tmp_path):
    (tmp_path / "engine.py").write_text(WITH_CORE)
    one = world(engine={"essential_processes": ["core*"]})
    process = one.run(sys.executable, str(tmp_path / "engine.py"), str(tmp_path))
    serving(one, tmp_path)
    core = int((tmp_path / "core").read_text())
    grown = time.monotonic() + 6  # what lived for 5 s is no helper
    wait_until(lambda: time.monotonic() > grown, "it is no helper", 30)
    os.kill(core, signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 1, one.log()
    report = one.report()
    assert report["cause"] == "dead"
    assert report["detail"].startswith(f"core_0, pid {core}, vanished 0.")
    assert report["detail"].endswith("(killed by signal 9)")
