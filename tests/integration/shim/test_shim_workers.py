"""What becomes of the engine's other processes when the supervisor stops it."""

import os

from fake_supervisor import KILL_ALL, TERM_MAIN, monotonic_ms
from shim_process import NO_POD, eventually, helper, is_alive, start_engine


def test_order_to_stop_reaches_only_the_main_process(supervised, supervisor):
    boss = supervisor()
    worker = 'trap "echo worker" TERM; while :; do sleep 0.05; done'
    script = (f"trap 'echo main; exit 0' TERM; sh -c '{worker}' & "
              "echo ready; while :; do sleep 0.05; done")
    process = start_engine(supervised, boss, "sh", "-c", script)
    process.wait_ready()
    boss.send(TERM_MAIN)
    assert process.read_line() == "main"
    boss.expect("engine.exited", ordered=True)
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0
    assert b"worker" not in process._output + process.process.stdout.read()
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


def test_workers_that_outlive_an_ordered_stop_have_a_second_and_are_killed(supervised, supervisor):
    boss = supervisor()
    process = start_engine(supervised, boss, helper("setsid_worker"))
    process.wait_ready()
    boss.send({"op": "phase", "phase": "cleaning_up", "deadline_at_ms": monotonic_ms() + 20000})
    boss.send(TERM_MAIN)
    ended = boss.expect("engine.exited", code=0, ordered=True)
    eventually(lambda: not process.survivors(), "the worker is gone without another order")
    assert 900 <= monotonic_ms() - ended["at_ms"] < 10000
    assert process.process.poll() is None, "the shim waits for its own order"
    boss.send({"op": "exit", "code": 0})
    assert process.wait() == 0


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


def marked(mark):
    """Living processes that carry a mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read() and is_alive(int(pid)):
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
    process.process.stdout.read()  # ends, so nobody holds it
