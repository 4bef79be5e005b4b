"""The program itself: its command line, how it is installed, what it costs, what it counts."""

import os
import re
import signal
import stat
import subprocess

import pytest
from fake_supervisor import monotonic_ms
from mounts import in_own_mounts
from known_process import stat_of
from shim_process import SHIM, eventually, helper


def run(*arguments, **options):
    return subprocess.run([SHIM, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=20, **options)


def is_sanitized():
    return b"__asan_init" in open(SHIM, "rb").read()


@pytest.mark.parametrize("arguments,text", [
    ([], "no command"),
    (["--"], "no command"),
    (["--grace", "5", "--", "true"], "--grace: expected a duration"),
    (["--grace", "-5s", "--", "true"], "--grace: expected a duration"),
    (["--grace", "5 s", "--", "true"], "--grace: expected a duration"),
    (["--grace", "99999999h", "--", "true"], "--grace: expected a duration"),
    (["--grace"], "--grace: needs a value"),
    (["--supervisor-timeout=ten", "--", "true"], "--supervisor-timeout: expected a duration"),
    (["--on-exit", "restart", "--", "true"], "--on-exit: expected fatal or propagate"),
    (["--stop-signals", "TERM,NOPE", "--", "true"], "--stop-signals: expected names"),
    (["--stop-signals", "", "--", "true"], "--stop-signals: expected names"),
    (["--stop-signals", "KILL", "--", "true"], "--stop-signals: expected names"),
    (["--wrong", "--", "true"], "--wrong: unknown option"),
    (["-x", "true"], "-x: unknown option"),
    (["--tty=yes", "--", "true"], "--tty: takes no value"),
    (["--required", "--", "true"], "--required: needs --socket"),
    (["--serve", "/bin/true", "--", "true"], "--serve: needs --socket"),
    (["--socket", "/s", "--serve-arg", "x", "--", "true"], "--serve-arg: needs --serve"),
    (["--socket", "/" + "x" * 107, "--", "true"], "--socket: path is longer than the 107 bytes"),
    (["--socket", "", "--", "true"], "--socket: expected a path"),
    *[(["--rewrite", rule, "--", "true"], "--rewrite: expected FROM:TO")
      for rule in ("", "15", ":", "15:", ":15", "15:15:15", "-1:15", "65:15", "15:65", "TERM:x",
                   "0:15", "1 :2")],
])
def test_bad_usage_is_one_clear_line_and_code_2(arguments, text):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(f"lastcall-shim: {text}"), result.stderr
    assert result.stderr.count("\n") == 1 and result.stdout == ""


def test_pod_grace_that_is_no_number_is_bad_usage():
    result = run("--", "true", env={**os.environ, "LASTCALL_POD_GRACE_SECONDS": "60s"})
    assert result.returncode == 2 and "LASTCALL_POD_GRACE_SECONDS" in result.stderr


def test_help_names_every_option():
    result = run("--help")
    assert result.returncode == 0
    for option in ("--socket", "--supervisor-timeout", "--on-exit", "--stop-signals", "--rewrite",
                   "--grace", "--tty", "--required", "--install", "--serve", "--serve-arg",
                   "--version", "--help"):
        assert option in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_version_is_one_line():
    assert re.fullmatch(r"lastcall-shim \d+\.\d+\.\d+\n", run("--version").stdout)


def test_options_may_be_written_with_an_equals_sign_and_without_dashes_before_the_command():
    assert run("--grace=5s", "--rewrite=1:2", helper("fast_exit"), "7").returncode == 7


def test_options_of_the_command_are_its_own():
    assert run("sh", "-c", "exit 4").returncode == 4


def test_install_copies_a_program_that_runs(tmp_path):
    target = tmp_path / "lastcall-shim"
    target.write_text("an old one")
    old_umask = os.umask(0o077)
    try:
        result = run("--install", tmp_path)
    finally:
        os.umask(old_umask)
    assert result.returncode == 0 and result.stderr == ""
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert os.listdir(tmp_path) == ["lastcall-shim"]
    assert subprocess.run([target, "--", helper("fast_exit"), "6"], check=False).returncode == 6


def test_install_into_nowhere_is_one_clear_line(tmp_path):
    result = run("--install", tmp_path / "absent")
    assert result.returncode == 1
    assert result.stderr.endswith("absent: No such file or directory\n")


@pytest.mark.plain_build
def test_program_is_static_and_needs_no_library():
    if is_sanitized():
        pytest.skip("sanitizers are libraries")
    facts = subprocess.run(["readelf", "-ld", SHIM], capture_output=True, text=True, check=True)
    text = facts.stdout
    assert "INTERP" not in text and "NEEDED" not in text


def memory_of(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file if line.count("kB")}


@pytest.mark.plain_build
def test_memory_at_rest_is_small(supervised, supervisor, tmp_path):
    if is_sanitized():
        pytest.skip("sanitizers have their own memory")
    boss = supervisor()
    process = supervised(helper("ignore_term"))
    process.wait_ready()
    boss.ask({"op": "remember", "blob": "x" * 1024})
    process.send(signal.SIGTERM)
    boss.expect("signal")
    subprocess.run(["sync", SHIM], check=True)  # fresh from the linker its text is a dirty page
    memory = memory_of(process.pid)
    assert memory["Rss"] <= 1300
    assert memory["Anonymous"] <= 150


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))


@pytest.mark.parametrize("with_supervisor", [True, False])
def test_idle_shim_wakes_up_only_to_look_at_its_engine(shim, supervisor, socket_path,
                                                       with_supervisor):
    if with_supervisor:
        boss = supervisor()
        process = shim("--socket", socket_path, "--", helper("ignore_term"))
        boss.expect("engine.started")
    else:
        process = shim("--", helper("ignore_term"))
    process.wait_ready()
    eventually(lambda: stat_of(process.pid)[1] == "S", "it sleeps")
    before, at = switches(process.pid), monotonic_ms()
    eventually(lambda: monotonic_ms() - at > 1000, "a second passes")
    woken = switches(process.pid) - before
    looks = (monotonic_ms() - at) // 2000 + 1 if with_supervisor else 0
    assert woken <= looks


@pytest.mark.parametrize("folder,name", [
    ("/sys/fs/cgroup", "memory.events"),
    ("/sys/fs/cgroup/memory", "memory.oom_control"),
    ("/sys/fs/cgroup/memory/listed", "memory.oom_control"),
], ids=["version 2", "version 1", "version 1 as listed"])
def test_oom_kill_is_reported_with_the_end_of_the_engine(shim, supervisor, socket_path, tmp_path,
                                                         folder, name):
    """The cgroup's counter is a file of the test's own, in a mount namespace of the shim's own."""
    boss = supervisor()
    counter = tmp_path / "counter"
    counter.write_text("low 0\noom_kill 3\n")
    listing = tmp_path / "listing"
    listing.write_text("7:memory:/listed\n3:cpu:/other\n0::/\n")
    own_cgroup = in_own_mounts(f"mount -t tmpfs none /sys/fs/cgroup\nmkdir -p {folder}\n"
                               f"mount --bind {listing} /proc/$$/cgroup\n"
                               f"ln -s {counter} {folder}/{name}")
    process = shim(SHIM, "--socket", socket_path, "--",
                   "sh", "-c", f"echo 'oom_kill 4' > {counter}; exit 9", program=own_cgroup)
    ended = boss.expect("engine.exited", code=9)
    assert ended["oom"] is True
    boss.send({"op": "exit", "code": 1})
    assert process.wait() == 1
