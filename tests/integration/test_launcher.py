"""`lastcall` as users start it: a launcher that finds the program, wherever both of them lie."""

import os
import shutil
import subprocess
import sys

import pytest

BUILD = os.environ.get(
    "LASTCALL_BUILD_DIR", os.path.join(os.path.dirname(__file__), "../../build/dev")
)
LASTCALL = os.path.join(BUILD, "supervisor/cli/lastcall")
SHOW = '#!/bin/sh\necho "$0"\nprintf "<%s>" "$@"\necho\nenv | grep ^LASTCALL_\n'


@pytest.fixture
def laid_out(tmp_path):
    """A launcher with a program that shows what it gets, in folders as an installation has them."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "libexec/lastcall").mkdir(parents=True)
    shutil.copy(LASTCALL, tmp_path / "bin/lastcall")
    program = tmp_path / "libexec/lastcall/lastcall"
    program.write_text(SHOW)
    program.chmod(0o755)
    return tmp_path


STOPS = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"]
SHOW_BLOCKED = "import signal\nprint(*(s.name for s in signal.pthread_sigmask(0, ())))\n"


def run(*words, **how):
    return subprocess.run(words, capture_output=True, text=True, timeout=20, check=False, **how)


def test_the_program_gets_every_argument_as_it_is(laid_out):
    done = run(laid_out / "bin/lastcall", "run", "", "a b", "--", "\n")
    assert "<run><><a b><--><\n>" in done.stdout


def test_it_is_found_from_where_a_link_leads(laid_out, tmp_path):
    link = tmp_path / "elsewhere"
    link.symlink_to(laid_out / "bin/lastcall")
    assert f"LASTCALL_LAUNCHER={laid_out}/bin/lastcall\n" in run(link, "version").stdout


def test_it_is_found_by_a_search_of_path_and_by_a_relative_one(laid_out):
    path = {"PATH": f"{laid_out}/bin:{os.environ['PATH']}"}
    assert "<version>" in run("/bin/sh", "-c", "lastcall version", env=path).stdout
    assert "<version>" in run("./lastcall", "version", cwd=laid_out / "bin").stdout


def test_it_is_found_without_proc(laid_out):
    hidden = ("unshare", "--mount", "/bin/sh", "-c", 'umount -l /proc && exec "$@"', "sh")
    if run(*hidden, "true").returncode != 0:
        pytest.skip("this host allows no mount namespaces")
    done = run(*hidden, laid_out / "bin/lastcall", "version")
    assert f"LASTCALL_LAUNCHER={laid_out}/bin/lastcall\n" in done.stdout


@pytest.mark.parametrize("given", [{}, {"LASTCALL_HELD_SIGNALS": "KILL", "LASTCALL_LAUNCHER": "x"}])
def test_only_run_receives_held_signals_whatever_the_environment_has(laid_out, given):
    environment = {**os.environ, **given, "LASTCALL_X": "kept"}
    held = "LASTCALL_HELD_SIGNALS="
    for words, expected in ((["run"], [held + "TERM,INT,QUIT,HUP,USR1,USR2"]), (["runs"], []),
                            (["serve", "run"], []), ([], [])):  # fmt: skip
        lines = run(laid_out / "bin/lastcall", *words, env=environment).stdout.splitlines()
        assert [line for line in lines if line.startswith(held)] == expected
        assert sum(line.startswith("LASTCALL_LAUNCHER=") for line in lines) == 1
        assert "LASTCALL_X=kept" in lines


@pytest.mark.parametrize(("command", "is_held"), [
    ("run", True), ("serve", True), ("runs", False), ("serv", False), ("", False),
])
def test_stop_signals_are_held_for_the_two_commands_that_handle_them(laid_out, command, is_held):
    program = laid_out / "libexec/lastcall/lastcall"
    program.write_text(f"#!{sys.executable}\n{SHOW_BLOCKED}")  # a shell unblocks them
    held = run(laid_out / "bin/lastcall", command).stdout.split()
    assert sorted(held) == sorted(STOPS if is_held else [])


def test_an_environment_without_a_variable_gets_its_own(laid_out):
    assert "LASTCALL_LAUNCHER=" in run(laid_out / "bin/lastcall", "run", env={}).stdout


@pytest.mark.parametrize(("spoil", "code"), [("unlink", 127), ("chmod", 126)])
def test_a_program_that_is_missing_or_cannot_run_is_reported_with_its_path(laid_out, spoil, code):
    program = laid_out / "libexec/lastcall/lastcall"
    program.unlink() if spoil == "unlink" else program.chmod(0o644)
    done = run(laid_out / "bin/lastcall", "version")
    assert done.returncode == code
    assert done.stderr.count("\n") == 1
    assert f"cannot run {laid_out}/bin/../libexec/lastcall/lastcall: error " in done.stderr


def test_a_path_that_is_too_long_is_an_error_and_no_other_program(laid_out):
    deep = laid_out
    for _ in range(19):
        deep = deep / ("d" * 200)
    deep = deep / ("d" * (4060 - len(str(deep))))
    (deep / "bin").mkdir(parents=True)
    shutil.copy(LASTCALL, deep / "bin/lastcall")
    done = run(deep / "bin/lastcall", "version")
    assert done.returncode in (126, 127), done.stdout
