"""What the shim reports about the engine's other processes while the engine runs."""

import contextlib
import os
import signal
import sys

import pytest
from fake_supervisor import TERM_MAIN, monotonic_ms
from known_process import by_age, is_alive
from shim_process import REFUSED, elapsed, eventually, start_engine, status_field

GROWN = 5.5  # what lived for 5 s is not a helper
KNOWN = 4.5  # by then a walk has seen it

# A main process with workers that name themselves as setproctitle does, or by prctl alone; prints
# their numbers. Each of them ends when it reads a line, with the code that is in it.
PARTS = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
def title(text):
    start = None
    with open("/proc/self/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    data = text.encode().ljust(end - start, b"\\0")[: end - start]
    ctypes.memmove(start, data, end - start)
def work(name):
    name, late = name.rstrip("?"), name.endswith("?")
    if late:
        libc.prctl(15, b"late", 0, 0, 0)
        signal.sigwait({signal.SIGUSR1})
    if "::" in name:
        title(name)
    libc.prctl(15, name.encode(), 0, 0, 0)
    time.sleep(1000)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
pids = []
for name in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        middle = name.startswith("+")
        if middle and os.fork() != 0:
            os.wait()
            time.sleep(1000)
        work(name.lstrip("+"))
    pids.append(pid)
print("ready", flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(1000)
"""


@pytest.fixture
def parts(supervised, supervisor, tmp_path):
    """Starts an engine with parts of these names; gives (boss, shim, {name: pid})."""
    program = tmp_path / "parts.py"
    program.write_text(PARTS)

    def start(*names):
        boss = supervisor()
        process = start_engine(supervised, boss, sys.executable, str(program), *names)
        process.wait_ready()

        def named():
            found = {}
            for pid in process.tree():
                found[name_of(pid)] = pid
            wanted = {"late" if name.endswith("?") else name.lstrip("+")[:15] for name in names}
            return found if wanted <= set(found) else None

        return boss, process, eventually(named, "all have their names")

    return start


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def age_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        started = int(file.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0]) - started / os.sysconf("SC_CLK_TCK")


def await_age(pid, seconds):
    eventually(lambda: age_of(pid) >= seconds, f"{pid} is {seconds} s old", 30)


def test_process_of_the_tree_that_is_killed_is_named_with_its_signal(parts):
    boss, process, pids = parts("VLLM::EngineCore", "+VLLM::Worker_TP0")
    core, worker = pids["VLLM::EngineCor"], pids["VLLM::Worker_TP"]
    await_age(worker, GROWN)
    before = monotonic_ms()
    os.kill(worker, signal.SIGKILL)
    died = boss.expect("engine.died")
    assert died["name"] == "VLLM::Worker_TP0", "the title, of which the kernel's name is a part"
    if process.mode not in REFUSED:  # there the next look shows it, and the status is not kept
        assert died["signal"] == signal.SIGKILL
        assert before <= died["at_ms"] < before + 1500, "its pidfd reports it, no look is awaited"
    os.kill(core, signal.SIGKILL)
    assert boss.expect("engine.died")["name"] == "VLLM::EngineCore"


def test_name_that_a_process_takes_between_two_walks_is_known(parts):
    """A core loads for a while before it gives itself its title."""
    boss, _, pids = parts("VLLM::EngineCore?", "other")
    await_age(pids["other"], 6.5)  # after the early walks; the next one is 10 s later
    os.kill(pids["late"], signal.SIGUSR1)
    eventually(lambda: "VLLM::EngineCor" in name_of(pids["late"]), "it has its name")
    os.kill(pids["other"], signal.SIGSTOP)
    boss.expect("engine.stopped")  # so that there was a look meanwhile
    os.kill(pids["late"], signal.SIGKILL)
    assert boss.expect("engine.died")["name"] == "VLLM::EngineCore"


def test_helper_that_did_not_live_for_long_is_no_death(parts):
    boss, _, pids = parts("ninja", "core")
    await_age(pids["core"], 2.5)  # known since the first walk
    os.kill(pids["ninja"], signal.SIGKILL)
    killed_in_time = age_of(pids["core"]) < 5
    await_age(pids["core"], GROWN)
    os.kill(pids["core"], signal.SIGKILL)
    if killed_in_time:
        assert boss.expect("engine.died")["name"] == "core"


def test_supervisor_that_comes_back_receives_a_death_again(parts):
    boss, _, pids = parts("core")
    await_age(pids["core"], GROWN)
    boss.vanish()
    os.kill(pids["core"], signal.SIGKILL)
    boss.listen()
    boss.expect("hello")
    assert boss.expect("engine.died")["name"] == "core"


def test_process_begun_since_the_last_walk_is_known_when_a_stop_begins(supervised, supervisor):
    """The supervisor does not wait for a server whose core ends before it."""
    script = "trap 'kill -9 $core' TERM; sleep 6.5; sleep 1000 & core=$!; while :; do sleep 1; done"
    boss = supervisor()
    process = start_engine(supervised, boss, "sh", "-c", script)

    def core():  # after the early walks
        for pid in process.tree():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read() == b"sleep\0" b"1000\0":
                    return pid
        return None

    await_age(eventually(core, "the core has come", 30), GROWN)
    boss.send({"op": "phase", "phase": "draining", "deadline_at_ms": monotonic_ms() + 60_000})
    boss.send(TERM_MAIN)
    assert boss.expect("engine.died")["name"] == "sleep"


# Ends one of its two parts at TERM, the other with code 0 at USR1, and lives on.
ENDS_PARTS = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
def start(name, how):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, how)
        libc.prctl(15, name, 0, 0, 0)
        time.sleep(1000)
    return pid
parts = [start(b"core_0", signal.SIG_DFL), start(b"core_1", lambda *_: os._exit(0))]
def end(*_):
    part = parts.pop(0)
    os.kill(part, signal.SIGTERM)
    os.waitpid(part, 0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, end)
print("ready", flush=True)
while True:
    time.sleep(1000)
"""


def test_each_end_after_the_stop_signal_is_reported_with_the_survivors(supervised, supervisor,
                                                                      tmp_path):
    (tmp_path / "engine.py").write_text(ENDS_PARTS)
    boss = supervisor()
    process = start_engine(supervised, boss, sys.executable, str(tmp_path / "engine.py"))
    process.wait_ready()
    await_age(by_age(process.tree())[-1], GROWN)
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 30000})
    boss.send(TERM_MAIN)
    first = boss.expect("engine.died")
    assert (first["name"], first["alive"], first["names"]) == ("core_0", 1, ["core_1"])
    os.kill(process.engine(), signal.SIGUSR1)
    second = boss.expect("engine.died")
    assert (second["name"], second["alive"]) == ("core_1", 0) and "names" not in second
    assert first["ordered"] and second["ordered"]
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert "ended by itself" not in process.stderr()


def test_an_end_after_the_stop_signal_is_no_death(parts):
    boss, process, pids = parts("core")
    await_age(pids["core"], GROWN)
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 30000})
    boss.send(TERM_MAIN)
    boss.expect("engine.tree", alive=0)
    assert boss.nothing_of("engine.died")
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0


def test_stopped_main_process_is_reported_at_once_and_each_time(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    engine = process.engine()
    os.kill(engine, signal.SIGSTOP)
    stopped, took = elapsed(lambda: boss.expect("engine.stopped"))
    assert (stopped["pid"] > 0, stopped["name"]) == (True, "sleep")
    os.kill(engine, signal.SIGCONT)
    eventually(lambda: status_field(engine, "State").startswith("S"), "it goes on")
    os.kill(engine, signal.SIGSTOP)
    boss.expect("engine.stopped")
    os.kill(engine, signal.SIGKILL)
    boss.expect("engine.exited", signal=9)
    assert took < 5000


def test_stopped_process_below_the_main_one_is_reported_within_seconds(parts):
    boss, process, pids = parts("VLLM::EngineCore")
    core = pids["VLLM::EngineCor"]
    await_age(core, KNOWN)
    os.kill(core, signal.SIGSTOP)
    stopped = boss.expect("engine.stopped")
    assert stopped["name"] == "VLLM::EngineCore"
    if process.mode != "pid1":
        assert stopped["pid"] == core
    os.kill(core, signal.SIGCONT)
    assert is_alive(core)
