"""What becomes of the engine's other processes when the supervisor stops it."""

import os
import signal
import subprocess
import sys

import pytest
from fake_supervisor import KILL_ALL, TERM_MAIN, WELCOME, monotonic_ms
from known_process import KnownProcess, is_alive
from shim_process import NO_POD, elapsed, eventually, helper, start_engine


def test_order_to_stop_reaches_only_the_main_process(supervised, supervisor):
    boss = supervisor()
    worker = 'trap "echo worker; exit 0" TERM; while :; do sleep 0.05; done'
    script = (f"trap 'echo main; sleep 0.3; echo main ends; exit 0' TERM; sh -c '{worker}' & "
              "echo ready; while :; do sleep 0.05; done")
    process = start_engine(supervised, boss, "sh", "-c", script)
    process.wait_ready()
    boss.send(TERM_MAIN)
    assert [process.read_line() for _ in range(2)] == ["main", "main ends"]
    boss.expect("engine.exited", ordered=True)
    assert process.read_line() == "worker", "when nobody else can end it any more"
    boss.expect("engine.tree", alive=0)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert not process.survivors()


def test_order_for_the_whole_tree_reaches_workers_too(supervised, supervisor):
    boss = supervisor()
    worker = 'trap "echo worker; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
    script = (f"sh -c '{worker}' &"
              'trap "wait; exit 0" TERM; while :; do sleep 0.05; done')
    process = start_engine(supervised, boss, "sh", "-c", script)
    process.wait_ready()
    boss.send({**TERM_MAIN, "scope": "all"})
    assert process.read_line() == "worker"


def test_exit_order_kills_what_is_alive_first(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("setsid_worker"), "stubborn")
    process.wait_ready()
    assert len(process.survivors()) == 2
    boss.send({"op": "exit", "code": 1})
    assert process.wait() == 1
    eventually(lambda: not process.survivors(), "nothing is left")


def test_workers_that_ignore_their_signal_have_the_grace_and_are_killed(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("setsid_worker"),
                           options=["--rest-grace", "1s"])
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20000})
    boss.send(TERM_MAIN)
    ended = boss.expect("engine.exited", code=0, ordered=True, alive=1)
    assert boss.expect("engine.tree", alive=1)["names"] == ["setsid_worker"]
    boss.expect("engine.tree", alive=0)
    eventually(lambda: not process.survivors(), "the worker is gone without another order")
    assert 900 <= monotonic_ms() - ended["at_ms"] < 10000
    assert process.process.poll() is None, "the shim waits for its own order"
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0


def behind_a_shell():
    """An engine that a shell waits for: without a trap the shell dies of the signal at once."""
    return "bash", "-c", f"export A=1; {helper('print_signals')} 15 0; echo after"


def test_engine_behind_a_shell_gets_its_own_signal_once_and_ends_by_itself(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, *behind_a_shell())
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20000})
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", signal=15, ordered=True, alive=1)
    left = boss.expect("engine.tree")
    assert (left["alive"], left["names"]) == (1, ["print_signals"])
    assert "names" not in boss.expect("engine.tree", alive=0)
    assert process.read_line() == "15"
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert process._output + process.process.stdout.read() in (b"", b"18\n"), "one, and CONT"


def test_alone_the_shim_lets_an_engine_behind_a_shell_end_by_itself(supervised):
    process = supervised(*behind_a_shell(), options=["--supervisor-timeout", "10ms"])
    process.wait_ready()
    process.send(signal.SIGTERM)
    assert process.read_line() == "15"
    _, took = elapsed(process.wait)
    assert took < 8000, "nobody is waited for once the tree is empty"
    assert not process.survivors()


def test_alone_the_shim_kills_what_outlives_the_grace(supervised):
    process = supervised(helper("setsid_worker"),
                         options=["--supervisor-timeout", "10ms", "--rest-grace", "500ms"])
    process.wait_ready()
    process.send(signal.SIGTERM)
    _, took = elapsed(process.wait)
    assert took >= 450
    assert not process.survivors()


def test_welcome_has_the_grace(supervised, supervisor):
    boss = supervisor(welcome={**WELCOME, "rest_grace_ms": 0})
    process = start_engine(supervised, boss, helper("setsid_worker"))
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 60000})
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", code=0, ordered=True)
    boss.expect("engine.tree", alive=0)
    assert not process.survivors()


def test_order_to_kill_all_reaches_what_the_main_process_has_left(supervised, supervisor):
    boss = supervisor(welcome={**WELCOME, "rest_grace_ms": 60000})
    process = start_engine(supervised, boss, helper("setsid_worker"))
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 60000})
    boss.send(TERM_MAIN)
    assert boss.expect("engine.tree", alive=1)["names"] == ["setsid_worker"]
    boss.send(KILL_ALL)
    boss.expect("engine.tree", alive=0)
    assert not process.survivors()
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0


def test_end_of_a_main_process_reports_that_no_process_is_left(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, "sleep", "100")
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", signal=15, ordered=True, alive=0)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert boss.nothing_of("engine.tree")


def test_worker_is_asked_when_its_own_parent_is_gone(supervised, supervisor, tmp_path):
    """As with vLLM behind a shell: its server ends its workers itself, in its own order."""
    worker = f"trap 'echo worker >> {tmp_path}/order; exit 0' TERM; while :; do sleep 0.05; done"
    server = (f"trap 'sleep 0.4; echo server >> {tmp_path}/order; exit 0' TERM; "
              f'bash -c "{worker}" & echo ready; while :; do sleep 0.05; done')
    (tmp_path / "server.sh").write_text(server)
    boss = supervisor()
    process = start_engine(supervised, boss, "bash", "-c",
                           f"bash {tmp_path}/server.sh; echo after")
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20000})
    boss.send(TERM_MAIN)
    boss.expect("engine.tree", alive=0)
    assert (tmp_path / "order").read_text() == "server\nworker\n"


def test_supervisor_that_comes_back_receives_how_many_are_left(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("setsid_worker"))
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 30000})
    boss.send(TERM_MAIN)
    boss.expect("engine.tree", alive=1)
    boss.drop()
    hello = boss.expect("hello")
    assert (hello["engine"]["state"], hello["engine"]["alive"]) == ("exited", 1)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert not process.survivors(), "the order to exit kills what is left"


SHARES = """
import sys, multiprocessing, signal, time
from multiprocessing import shared_memory
def work(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    own = shared_memory.SharedMemory(name=name, create=True, size=4096)
    open(sys.argv[1], "a").write(name + "\\n")
    time.sleep(100)
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    multiprocessing.set_start_method(sys.argv[2])
    mine = shared_memory.SharedMemory(create=True, size=4096)
    open(sys.argv[1], "a").write(mine.name + "\\n")
    multiprocessing.Process(target=work, args=("psm_test_" + mine.name[-8:],)).start()
    time.sleep(100)
"""


@pytest.mark.parametrize("order", [KILL_ALL, {"op": "exit", "code": 137}], ids=["KILL", "exit"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_shared_memory_of_killed_processes_is_removed_by_their_tracker(supervised, supervisor,
                                                                       tmp_path, start, order):
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    listed = tmp_path / "names"
    listed.touch()
    boss = supervisor()
    process = start_engine(supervised, boss, sys.executable, str(program), str(listed), start)

    def shared():
        names = listed.read_text().split()
        return names if len(names) == 2 else None

    names = eventually(shared, "both have shared memory", 60)
    assert all(os.path.exists("/dev/shm/" + name) for name in names)
    process.remember_tree()
    boss.send(order)
    if order == KILL_ALL:
        boss.expect(("engine.exited", "engine.tree"), alive=0)
        boss.send({"op": "exit", "code": 137})
    process.wait()
    assert not process.survivors()
    assert not [name for name in names if os.path.exists("/dev/shm/" + name)]


def test_kill_order_ends_main_process_and_workers(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("setsid_worker"), "stubborn")
    process.wait_ready()
    boss.send(KILL_ALL)
    boss.expect("engine.exited", signal=9, ordered=True)
    eventually(lambda: not process.survivors(), "nothing is left")
    boss.send({"op": "exit", "code": 137})
    assert process.wait() == 137


def test_chains_of_forking_processes_are_ended(supervised, supervisor):
    boss = supervisor()
    mark = f"LASTCALL_TEST_MARK={os.urandom(8).hex()}"
    process = start_engine(supervised, boss, helper("fork_storm"),
                           env={**NO_POD, **dict([mark.split("=")])})
    process.wait_ready()
    assert marked(mark)
    boss.send({"op": "exit", "code": 1})
    assert process.wait() == 1
    eventually(lambda: not marked(mark), "no chain is left", 2)


@pytest.fixture
def crowd():
    """Many processes that are not the shim's: each walk of /proc takes longer than a link lives."""
    process = subprocess.Popen([helper("crowd"), "3000"], stdout=subprocess.PIPE, text=True)
    yield int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.plain_build
def test_chains_that_fork_faster_than_a_walk_are_ended_long_before_the_deadline(
        supervised, supervisor, crowd):
    if crowd < 2500:
        pytest.skip(f"this system allows {crowd} processes more only")
    boss = supervisor()
    mark = f"LASTCALL_TEST_MARK={os.urandom(8).hex()}"
    process = start_engine(supervised, boss, helper("fork_storm"), "4000",
                           env={**NO_POD, **dict([mark.split("=")])})
    process.wait_ready()
    until = monotonic_ms() + 10_000
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": until})
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert monotonic_ms() < until - 5_000
    assert not any(marked(mark) for _ in range(5))


def marked(mark):
    """Living processes that carry a mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read() and is_alive(KnownProcess(pid)):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def test_descendant_that_holds_stdout_does_not_delay_the_end(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("stdout_holder"))
    process.wait_ready()
    boss.send(TERM_MAIN)
    boss.expect("engine.exited", code=0)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    process.process.stdout.read()  # ends, so no process holds it
