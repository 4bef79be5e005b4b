"""Shell scripts pass shellcheck, Python files pyflakes; the summary of a test run never lies."""

import importlib.util
import os
import subprocess
import sys

import pytest
from lint_tree import ROOT, SCRIPTS, files

JUNIT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><skipped/></testcase>
{}
</testsuite></testsuites>"""


def shell_complaints(paths):
    done = subprocess.run(["shellcheck", *paths], cwd=ROOT, capture_output=True, text=True)
    return done.stdout


def python_complaints(paths):
    command = [sys.executable, "-m", "pyflakes", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_shell_scripts_pass_shellcheck():
    complaints = shell_complaints([*SCRIPTS, *files(".sh")])
    assert not complaints, complaints


def test_python_files_pass_pyflakes():
    complaints = python_complaints(files(".py"))
    assert not complaints, complaints


def test_scripts_are_executable():
    for path in (*SCRIPTS, *files(".sh")):
        assert (ROOT / path).stat().st_mode & 0o100, f"{path} is not executable"


def test_complaints_are_found(tmp_path):
    shell, python = tmp_path / "a.sh", tmp_path / "a.py"
    shell.write_text("#!/bin/bash\nrm $1\n")
    assert shell_complaints([shell])
    python.write_text("import os\nprint(undefined_name)\n")
    assert len(python_complaints([python]).splitlines()) == 2


@pytest.fixture
def summarise():
    spec = importlib.util.spec_from_file_location("summary", ROOT / ".ci/summary.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.summarise


def test_summary_adds_up_all_files(summarise, tmp_path):
    (tmp_path / "one.xml").write_text(JUNIT.format(""))
    (tmp_path / "two.xml").write_text(JUNIT.format(""))
    (tmp_path / "stages").write_text("0\tunit\n0\tlint\n")
    assert summarise(tmp_path) == (["4 passed, 0 failed, 2 skipped"], 0)


def test_summary_counts_failures_and_names_them(summarise, tmp_path):
    bad = '<testcase name="d"><failure/><error/></testcase><testcase name="e" status="fail"/>'
    (tmp_path / "one.xml").write_text(JUNIT.format(bad))
    (tmp_path / "stages").write_text("1\tunit\n")
    lines, status = summarise(tmp_path)
    assert status == 1
    assert lines[-1] == "2 passed, 2 failed, 1 skipped"
    assert "failed: one: d" in lines


def test_summary_counts_a_stage_that_failed_without_a_failed_test(summarise, tmp_path):
    (tmp_path / "one.xml").write_text(JUNIT.format(""))
    (tmp_path / "stages").write_text("0\tunit\n1\tbuild asan\n")
    lines, status = summarise(tmp_path)
    assert (lines[-1], status) == ("2 passed, 1 failed, 1 skipped", 1)


@pytest.mark.parametrize("text", ["", '<testsuite><testcase name="c"><skipped/></testcase>'])
def test_summary_of_a_cut_off_file_is_a_failure(summarise, tmp_path, text):
    (tmp_path / "one.xml").write_text(text)
    assert summarise(tmp_path)[1] == 1


def test_summary_of_nothing_is_a_failure(summarise, tmp_path):
    assert summarise(tmp_path)[1] == 1
    (tmp_path / "one.xml").write_text('<a><testcase name="c"><skipped/></testcase></a>')
    assert summarise(tmp_path)[1] == 1


def test_summary_of_a_long_run_lists_what_was_not_shown(summarise, tmp_path):
    skipped = '<testcase name="{}"><skipped type="pytest.skip" message="{}">x</skipped></testcase>'
    (tmp_path / "dev-a.xml").write_text(
        "<testsuite><testcase name='fine'/>" + skipped.format("first", "no namespaces here")
        + skipped.format("second", "no namespaces here") + skipped.format("third", "no podman")
        + "</testsuite>")
    counts = "1 passed, 0 failed, 3 skipped"
    assert summarise(tmp_path) == ([counts], 0)
    assert summarise(tmp_path, is_long=True) == ([
        "not shown here: no namespaces here (2, as dev-a: first)",
        "not shown here: no podman (1, as dev-a: third)", counts], 0)


# The stage and what waits for it write to standard output, and go on with a line of the input.
BESIDE = """set -euo pipefail
results=$1
exec 3>&1 4<&0
say() { echo "$*"; }
source .ci/stages.sh
run_stage() { stage "$1" sh -c 'echo $$ >&3; read -r _ <&4'; }
wait() { echo waits >&3; builtin wait "$@"; }
begin_beside one
read -r _ <&4
end_beside one
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority")
def test_a_stage_beside_another_has_the_lowest_priority_until_it_is_waited_for(tmp_path):
    run = subprocess.Popen(["bash", "-c", BESIDE, "bash", tmp_path], cwd=ROOT, text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    try:
        stage = int(run.stdout.readline())
        assert os.getpriority(os.PRIO_PROCESS, stage) == 19
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == "waits\n"
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, stage) == own
        assert "== one: ok" in run.communicate("\n", timeout=30)[0]
    finally:
        run.terminate()
    assert (tmp_path / "stages").read_text() == "0\tone\n"
