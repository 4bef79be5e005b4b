"""`lastcall run` until it is the shim, and what the command gets to see of that."""

import concurrent.futures
import contextlib
import ctypes
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import pytest
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SHIM, lastcall, merged

WITHOUT_CONFIG = {k: v for k, v in os.environ.items() if k not in ("LASTCALL_CONFIG", "POD_IP")}
PID_1 = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def child_of(unshare, pause=0.01):
    """PID 1 of the new namespace, by its number here."""
    path = f"/proc/{unshare.pid}/task/{unshare.pid}/children"

    def find():
        with open(path) as file:
            return file.read().split()

    return int(wait_until(find, "the namespace has a process", pause=pause)[0])


# Stands where `run` looks for the shim, and becomes it when it may: what reached `run` before is
# pending then, whenever that was. No shell: dash unblocks signals.
GATE = """#!{python}
import os, sys, time
open({up!r}, "w").close()
while not os.path.exists({open!r}):
    time.sleep(0.01)
os.execv({shim!r}, [{shim!r}, *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def pid_namespaces():
    if subprocess.run([*PID_1, "true"], check=False).returncode != 0:
        pytest.skip("this host allows no PID namespaces")


@pytest.fixture(params=["pid1", "child"])
def started(request, world, pid_namespaces):
    """A world with a `run` on its way to the shim: its pid, and the way to let it go on."""
    one = world()
    one.wrapped = PID_1 if request.param == "pid1" else ()
    with open(one.path("gate"), "w") as file:
        file.write(GATE.format(
            python=sys.executable, up=one.path("up"), open=one.path("open"), shim=SHIM
        ))  # fmt: skip
    os.chmod(one.path("gate"), 0o755)
    one.process = one.run(
        "/bin/touch", one.path("ran"), options=("--supervisor-timeout", "5s"),
        LASTCALL_SHIM=one.path("gate"),
    )  # fmt: skip
    one.run_pid = child_of(one.process) if request.param == "pid1" else one.process.pid
    wait_until(lambda: os.path.exists(one.path("up")), "run becomes the shim")
    return one


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_stop_before_the_shim_is_there_is_code_0_and_starts_nothing(started, number):
    os.kill(started.run_pid, number)
    open(started.path("open"), "w").close()
    assert started.process.wait(timeout=PATIENCE) == 0, started.log()
    assert not os.path.exists(started.path("ran"))


def blocked(path):
    with open(path) as file:
        [mask] = [line.split()[1] for line in file if line.startswith("SigBlk:")]
    return {number for number in signal.valid_signals() if int(mask, 16) >> (number - 1) & 1}


def holds_stops(pid):
    with contextlib.suppress(OSError, ValueError):
        return signal.SIGTERM in blocked(f"/proc/{pid}/status")
    return False


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_forwarded_signals_do_not_end_run_before_it_is_the_shim(started, number):
    os.kill(started.run_pid, number)
    open(started.path("open"), "w").close()
    wait_until(lambda: os.path.exists(started.path("ran")), "the command runs")
    assert started.process.wait(timeout=PATIENCE) == 1, started.log()  # it ended by itself


def is_launched(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().startswith("lastcall")  # the shim, where it was quick
    return False


def started_as(world, mode):
    """A `run` right after its exec, and its pid."""
    one = world()
    one.wrapped = PID_1 if mode == "pid1" else ()
    one.process = one.run("/bin/sh", "-c", f": > {one.path('ran')}; exec sleep 3600")
    if mode == "child":
        return one, one.process.pid
    pid = child_of(one.process, pause=0)
    until = time.monotonic() + PATIENCE
    while not is_launched(pid):
        assert time.monotonic() < until and one.process.poll() is None
    return one, pid


@pytest.mark.parametrize("after", [step / 2 for step in range(13)])
@pytest.mark.parametrize("mode", ["pid1", "child"])
def test_a_stop_in_the_first_milliseconds_is_received(world, pid_namespaces, mode, after):
    """All but one that comes before the first instructions, whose number the next test measures: no
    process can receive that one, and it is distinguished here by the mask at that time."""
    one, pid = started_as(world, mode)
    until = time.monotonic() + after / 1000
    while time.monotonic() < until:
        pass
    is_held = holds_stops(pid)
    os.kill(pid, signal.SIGTERM)
    if not is_held and mode == "pid1":  # perhaps dropped: one that is received ends the test
        wait_until(lambda: holds_stops(pid) or one.process.poll() is not None, "held", pause=0)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    code = one.process.wait(timeout=PATIENCE)
    assert code in ((0,) if is_held or mode == "pid1" else (0, -signal.SIGTERM)), one.log()
    assert not (code and os.path.exists(one.path("ran")))


TRACE_ME, SINGLE_STEP, DETACH = 0, 9, 17


@pytest.mark.parametrize(("command", "engine"), [("run", ("--", "true")), ("serve", ())])
def test_stops_are_held_within_the_first_hundred_instructions(world, command, engine):
    """Nothing else bounds the time in which a stop is lost, least of all a clock."""
    one = world()
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    run = subprocess.Popen(
        [LASTCALL, command, "--config", one.write_config(), *engine],
        preexec_fn=lambda: ptrace(TRACE_ME, 0, None, None),
    )
    try:
        _, status = os.waitpid(run.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            pytest.skip("this host allows nobody to trace his child")
        steps = 0
        while not holds_stops(run.pid):
            assert steps < 100
            assert ptrace(SINGLE_STEP, run.pid, None, None) == 0, os.strerror(ctypes.get_errno())
            os.waitpid(run.pid, 0)
            steps += 1
        assert steps > 0
    finally:
        run.kill()
        run.wait()


def test_the_command_sees_no_variable_of_the_launcher(world):
    one = world()
    run = one.run("/bin/sh", "-c", f"env > {one.path('env')}", LASTCALL_HELD_SIGNALS="WINCH",
                  LASTCALL_LAUNCHER="/no/such/file")  # fmt: skip
    assert run.wait(timeout=PATIENCE) == 1
    with open(one.path("env")) as file:
        environment = file.read()
    assert "LASTCALL_SOCKET=" in environment
    assert "LASTCALL_HELD_SIGNALS" not in environment and "LASTCALL_LAUNCHER" not in environment


@pytest.mark.parametrize("mask", [set(), {signal.SIGINT, signal.SIGUSR2}], ids=["none", "some"])
def test_the_command_gets_the_mask_that_run_was_started_with(world, mask):
    one = world()
    before = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        run = one.run("/bin/cp", "/proc/self/status", one.path("status"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert run.wait(timeout=PATIENCE) == 1
    assert blocked(one.path("status")) == mask


@pytest.mark.plain_build  # sanitizers have no use for a process without descriptors
def test_a_supervisor_that_crashes_at_its_start_is_started_again(world):
    """It leaves no word: a report that it cannot run as configured would end all, and start
    nothing."""
    one = world()
    with open(one.path("serve"), "w") as file:
        file.write(f"""#!/bin/sh
[ -e {one.path("crashed")} ] || {{ : > {one.path("crashed")}; kill -SEGV $$; }}
exec {LASTCALL} serve --config {one.write_config()}
""")
    os.chmod(one.path("serve"), 0o755)
    shim = one.shim("/bin/sleep", "3600", options=("--serve", one.path("serve")))
    one.wait_for_log('"phase begun","phase":"serving"')
    assert os.path.exists(one.path("crashed"))
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=PATIENCE) == 0


AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
NOTHING_TO_TELL = ("--set", "discovery=[{file: {directory: /tmp}}]")
# A command, the code, and what else is printed: each ends in another place on the way.
ENDS = {
    "no command": (("/does/not/exist",), 127, (), {}),
    "a directory": (("/etc",), 126, (), {}),
    "no program": (("/etc/passwd",), 126, (), {}),
    "a bad option": (("true",), 2, ("--supervisor-timeout", "soon"), {}),
    "no shim": (("true",), 1, (), {"LASTCALL_SHIM": "/does/not/exist"}),
    "no supervisor": (("true",), 2, NOTHING_TO_TELL, {}),
    "a hung supervisor": (("sh", "-c", "kill -STOP $(pgrep -x lastcall -P $PPID)"), 1, (), {}),
    "the engine's end": (("true",), 1, (), {}),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_directory_that_run_made_does_not_outlive_it(name):
    command, code, options, environment = ENDS[name]
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        done = subprocess.run(
            [*(AS_NOBODY if os.geteuid() == 0 else ()), LASTCALL, "run", *options,
             "--set", f"probes.listen=127.0.0.1:{free_port()}", "--", *command],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
            check=False, env={**WITHOUT_CONFIG, "XDG_RUNTIME_DIR": directory, **environment},
        )  # fmt: skip
        assert f"admin socket {directory}/lastcall/admin.sock" in done.stderr
        assert done.returncode == code, done.stderr
        assert os.listdir(directory) == []


def prepare(runtime, kind):
    """The socket at the known place: `lastcall/admin.sock`, which nothing listens on."""
    nobody = 65534 if os.geteuid() == 0 else os.geteuid()
    place = f"{runtime}/lastcall"
    real = f"{runtime}/elsewhere" if kind == "a link" else place
    os.mkdir(real, 0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{real}/admin.sock")
    os.chmod(f"{real}/admin.sock", 0o666)
    if kind == "a link":
        os.symlink(real, place)
    os.chmod(real, {"its own": 0o700, "a group's": 0o770}.get(kind, 0o755))
    for path in (real, f"{real}/admin.sock"):
        os.chown(path, 1 if kind == "another user's" else nobody, -1)


@pytest.mark.parametrize("kind", ["its own", "another user's", "a group's", "a link"])
def test_a_directory_that_somebody_has_prepared_is_not_taken_over(kind):
    if kind == "another user's" and os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        prepare(directory, kind)
        done = subprocess.run(
            [*(AS_NOBODY if os.geteuid() == 0 else ()), LASTCALL, "run",
             "--set", f"probes.listen=127.0.0.1:{free_port()}", "--", "true"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
            check=False, env={**WITHOUT_CONFIG, "XDG_RUNTIME_DIR": directory},
        )  # fmt: skip
        is_taken = f"admin socket {directory}/lastcall/admin.sock" in done.stderr
        assert is_taken == (kind == "its own"), done.stderr
        assert is_taken or f"admin socket {directory}/lastcall-" in done.stderr


SECRETS = {
    "LASTCALL_ETCD_PASSWORD": "hush-etcd",
    "LASTCALL_NATS_PASSWORD": "hush-nats",
    "LASTCALL_LIFECYCLE_TOKEN": "hush-token",
    "LASTCALL_INGRESS_TOKEN": "hush-ingress",
    "LASTCALL_ADMISSION_TOKEN": "hush-admission",
}


def test_the_supervisors_secrets_are_hidden_from_a_command_of_the_same_user():
    look = "/proc/$PPID/environ /proc/$(pgrep -x lastcall -P $PPID)/environ"
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        done = subprocess.run(
            [*(AS_NOBODY if os.geteuid() == 0 else ()), LASTCALL, "run",
             "--set", f"probes.listen=127.0.0.1:{free_port()}", "--",
             "/bin/sh", "-c", f"env > {directory}/env; cat {look} > {directory}/proc"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
            check=False,
            env={**WITHOUT_CONFIG, **SECRETS, "XDG_RUNTIME_DIR": directory, "PLAIN": "kept"},
        )  # fmt: skip
        with open(f"{directory}/env") as file:
            environment = file.read()
        with open(f"{directory}/proc") as file:
            of_others = file.read()
    assert "PLAIN=kept\n" in environment and "LASTCALL_SOCKET=" in environment
    assert "hush" not in environment + of_others
    assert done.stderr.count("Permission denied") == 2, done.stderr


def test_command_that_cannot_run_has_the_same_code_in_the_report(world):
    """Only its exec shows it: the file is there, and what it names to run it is not."""
    one = world()
    script = one.path("engine")
    with open(script, "w") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(script, 0o755)
    one.process = one.run(script)
    assert one.process.wait(PATIENCE) == 127
    report = one.report()
    assert report["exit_code"] == 127
    assert report["detail"] == "the engine's command was not found (127)"


def hook_that_takes(seconds, one):
    """It leaves a mark only if it was allowed to finish."""
    command = ["/bin/sh", "-c", f"sleep {seconds}; : > {one.path('flushed')}"]
    return {"hooks": [{"name": "flush", "command": command, "timeout": "5s"}]}


def ends_in_order(one, has_hook=True):
    """The whole stop is done, nothing of it is left, and both reports are the same."""
    assert os.path.exists(one.path("flushed")) == has_hook, one.log()
    assert os.listdir(one.path("e")) == os.listdir(one.path("a")) == []
    with open(one.path("termination")) as file:
        assert json.load(file) == one.report()
    assert not has_hook or one.report()["cleanup"]["hooks"]["outcome"] == "completed"


@pytest.mark.parametrize("has_hook", [True, False])
def test_stop_that_comes_before_the_supervisor_has_its_whole_time(world, has_hook):
    """The supervisor, which is slow to start, learns of the stop when it is there. It is not killed
    in the middle of what it does then."""
    one = world()
    one.config["cleanup"] = hook_that_takes(1.4, one) if has_hook else {}
    with open(one.path("termination"), "w"), open(one.path("serve"), "w") as script:
        script.write(f"""#!/bin/sh
trap '' TERM
: > {one.path("begun")}
sleep 0.3
exec env --default-signal=TERM {LASTCALL} serve --config {one.write_config()}
""")
    os.chmod(one.path("serve"), 0o755)
    shim = one.shim("/bin/sleep", "3600", options=("--serve", one.path("serve")),
                    LASTCALL_TERMINATION_LOG=one.path("termination"))  # fmt: skip
    wait_until(lambda: os.path.exists(one.path("begun")), "the supervisor is started")
    shim.send_signal(signal.SIGTERM)
    assert shim.wait(timeout=PATIENCE) == 0
    assert "engine started" not in one.log()
    ends_in_order(one, has_hook)


@pytest.mark.parametrize("has_hook", [True, False])
def test_command_that_cannot_run_leaves_the_supervisor_its_whole_time(world, has_hook):
    one = world()
    one.config["cleanup"] = hook_that_takes(1.4, one) if has_hook else {}
    with open(one.path("termination"), "w"), open(one.path("engine"), "w") as script:
        script.write("#!/no/such/interpreter\n")
    os.chmod(one.path("engine"), 0o755)
    run = one.run(one.path("engine"), LASTCALL_TERMINATION_LOG=one.path("termination"))
    assert run.wait(timeout=PATIENCE) == 127
    ends_in_order(one, has_hook)


class Slow(http.server.BaseHTTPRequestHandler):
    """An engine that is not the shim's command: its answers take longer than what a shim waits
    for an order to exit."""

    takes = 7

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.server.asked.set()
        self.server.ended.wait(self.takes)
        self.answer()

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


@pytest.fixture
def slow_engine():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.asked, server.ended = threading.Event(), threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.ended.set()
        server.shutdown()


def listens_at(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_stop_that_began_before_the_shim_was_there_has_its_whole_time(world, slow_engine):
    """An operator stops the supervisor, which its shim can reach only after that. The shim starts
    nothing, and waits for the end of that stop, which has a request to complete."""
    one = world()
    ingress = free_port()
    one.config = merged(one.config, {
        "shutdown": {"grace_period": "30s"},
        "ingress": {"listen": f"127.0.0.1:{ingress}",
                    "upstream": "127.0.0.1:%d" % slow_engine.server_port},
    })  # fmt: skip
    with open(one.path("termination"), "w"), open(one.path("serve"), "w") as script:
        script.write(f"""#!/bin/sh
{LASTCALL} serve --config {one.write_config()} &
serve=$!
until [ -e {one.path("stopped")} ]; do sleep 0.05; done
ln -s {one.socket} {one.path("late.sock")}
wait $serve
""")
    os.chmod(one.path("serve"), 0o755)
    one.socket = one.path("late.sock")
    shim = one.shim("/bin/sleep", "3600", options=("--serve", one.path("serve")),
                    LASTCALL_TERMINATION_LOG=one.path("termination"))  # fmt: skip
    wait_until(lambda: listens_at(ingress), "the ingress listens")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        url = f"http://127.0.0.1:{ingress}/v1/completions"
        answer = pool.submit(lambda: urllib.request.urlopen(url, b"").read())
        assert slow_engine.asked.wait(PATIENCE)
        assert lastcall("drain", "--exit", "--admin-socket", one.admin_socket).returncode == 0
        open(one.path("stopped"), "w").close()
        assert answer.result(timeout=PATIENCE) == b"ok"
    assert shim.wait(timeout=PATIENCE) == 0
    assert "engine started" not in one.log()
    ends_in_order(one, has_hook=False)
    assert one.report()["requests"]["completed"] == 1


def test_supervisor_that_freezes_while_it_is_waited_for_does_not_hold_the_shim_beyond_d(world):
    one = world()
    hook = ["/bin/sh", "-c", f": > {one.path('hook')}; sleep 3600"]
    one.config["cleanup"] = {"hooks": [{"name": "flush", "command": hook, "timeout": "5s"}]}
    with open(one.path("engine"), "w") as script:
        script.write("#!/no/such/interpreter\n")
    os.chmod(one.path("engine"), 0o755)
    run = one.run(one.path("engine"))
    wait_until(lambda: os.path.exists(one.path("hook")), "the hook runs")
    os.kill(one.supervisor_pid(), signal.SIGSTOP)
    assert run.wait(timeout=PATIENCE) == 127, "D is 5 s after the fatal error"
    assert one.processes_left() == []
