"""The command line as a whole: exit codes, JSON, completion in a real bash, what is installed."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

BUILD = os.path.abspath(
    os.environ.get("LASTCALL_BUILD_DIR", os.path.join(os.path.dirname(__file__), "../../build/dev"))
)
LASTCALL = os.path.join(BUILD, "supervisor/cli/lastcall")
PATIENCE = 20.0


def lastcall(*words):
    return subprocess.run(
        [LASTCALL, *words], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def subcommands():
    section = lastcall("--help").stdout.split("Subcommands:\n", 1)[1]
    return re.findall(r"^  ([a-z][\w-]*)", section, re.MULTILINE)


OPERATOR = {
    "status": [], "requests": [], "drain": [], "resume": [], "cancel": ["r"], "reload": [],
    "admission": [],
}  # fmt: skip


@pytest.mark.parametrize("command", OPERATOR)
def test_an_operator_without_a_supervisor_gets_1_and_no_output(command, tmp_path):
    for output in ("text", "json"):
        done = lastcall(
            command, *OPERATOR[command], "--admin-socket", str(tmp_path / "none"), "-o", output
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1 and str(tmp_path / "none") in done.stderr


@pytest.mark.parametrize("command", [*OPERATOR, "wait-ready", "probe", "plan", "check"])
def test_a_bad_configuration_is_2_for_every_command_that_reads_it(command, tmp_path):
    bad = tmp_path / "c.yaml"
    bad.write_text("zebra: 1\n")
    done = lastcall(command, *OPERATOR.get(command, []), "--config", str(bad))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{bad}:1:1: zebra: unknown key" in done.stderr


def test_no_help_ends_with_an_empty_line_more_than_the_others():
    for command in subcommands():
        text = lastcall(command, "--help").stdout
        assert text.endswith("\n") and not text.endswith("\n\n\n"), command


def test_every_subcommand_refuses_what_it_does_not_know_with_2():
    for command in subcommands():
        done = lastcall(command, "--no-such-option")
        assert (done.returncode, done.stdout) == (2, ""), command
        assert done.stderr.startswith(f"lastcall {command}: "), command


@pytest.mark.parametrize(("words", "reported"), [
    (("requests", "--limit", "0"), "lastcall requests: not expected: --limit 0; see"),
    (("status", "[a]", "b"), "lastcall status: not expected: [a] b; see"),
    (("--output", "json", "version"),
     "lastcall version: not expected: --output json, because it comes before the command"),
    (("-o", "json", "version"), "lastcall version: not expected: -o json, because it comes"),
    (("status", "--wach"), "lastcall status: not expected: --wach, did you mean '--watch'?; see"),
    (("--nope",), "lastcall: unknown option '--nope'; see"),
    (("replay", "--outptu"),
     "lastcall replay: not expected: --outptu, did you mean '--output'?; see"),
    (("completion", "--nope"), "lastcall completion: not expected: --nope; see"),
])  # fmt: skip
def test_words_that_make_no_sense_are_named_as_they_were_typed(words, reported):
    done = lastcall(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(reported) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("grace", ["-5s", "1500ms", "soon", "99999999999999999999s"])
def test_a_pod_grace_that_makes_no_sense_is_2_with_the_programs_name(grace):
    done = lastcall("plan", "--config", "/dev/null", f"--pod-grace={grace}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"lastcall: --pod-grace {grace}: expected whole seconds")


def test_wait_ready_reports_as_json_why_not(tmp_path):
    done = lastcall(
        "wait-ready", "--timeout", "50ms", "-o", "json", "--admin-socket", str(tmp_path / "none")
    )
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert list(answer) == ["ready", "reason"] and answer["ready"] is False
    assert done.stderr == ""


def test_plan_check_and_version_as_json():
    plan = json.loads(lastcall("plan", "-c", "/dev/null", "-o", "json").stdout)
    assert list(plan) == ["pod_grace_ms", "note", "budgets", "timeline", "warnings"]
    assert list(plan["timeline"][0]) == ["at_ms", "id", "what"]
    check = json.loads(lastcall("check", "-c", "/dev/null", "-o", "json", "--set", "a=1").stdout)
    assert list(check) == ["ok", "source", "errors", "warnings", "notes"]
    assert check["errors"][0]["source"] == "--set a"
    assert list(json.loads(lastcall("version", "-o", "json").stdout)) == ["name", "version"]


# --- completion ----------------------------------------------------------------------------------

COMPLETE = """
source <("$1" completion bash)
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }  # complains outside of a real completion
_lastcall
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words, folder=None):
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", COMPLETE, "bash", LASTCALL, "lastcall", *words],
        capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_bash_completes_subcommands():
    assert set(completed("")) == set(subcommands()) | {"-h", "--help", "--version"}
    assert completed("dr") == ["drain"]
    assert completed("re") == ["requests", "resume", "reload", "replay"]


def test_bash_completes_the_flags_of_each_subcommand():
    for command in subcommands():
        flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", lastcall(command, "--help").stdout))
        assert set(completed(command, "--")) == flags, command
    assert "--private-directory" not in completed("serve", "--")


def test_bash_completes_choices():
    assert completed("status", "--output", "") == ["text", "json"]
    assert completed("status", "-o", "j") == ["json"]
    assert completed("status", "--output", "=", "j") == ["json"]
    assert {"bash", "zsh", "fish"} <= set(completed("completion", ""))
    assert {"livez", "readyz", "engine/livez"} <= set(completed("probe", ""))
    assert completed("probe", "engine/st") == ["engine/startupz"]


def test_bash_completes_files_where_files_are_expected(tmp_path):
    (tmp_path / "one.yaml").touch()
    assert completed("check", "--config", "on", folder=tmp_path) == ["one.yaml"]
    assert completed("check", "-c", "", folder=tmp_path) == ["one.yaml"]
    assert completed("replay", "o", folder=tmp_path) == ["one.yaml"]
    assert completed("run", "--", "o", folder=tmp_path)[-1] == "one.yaml"
    assert completed("drain", "--timeout", "") == []


def types(command, keys, expected, folder, **environment):
    """Starts a shell whose prompt is `ready> `, and types into it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(command[0], command,
                   {**os.environ, "TERM": "dumb", "HOME": str(folder), **environment})  # fmt: skip
    try:
        seen = ""

        def read_until(text):
            nonlocal seen
            deadline = time.monotonic() + PATIENCE
            while text not in seen:
                assert time.monotonic() < deadline, seen
                if select.select([terminal], [], [], 0.2)[0]:
                    seen += os.read(terminal, 4096).decode(errors="replace")

        read_until("ready> ")
        os.write(terminal, keys.encode())
        read_until(expected)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def test_a_real_bash_completes_at_the_key(tmp_path):
    rc = tmp_path / "rc"
    rc.write_text(
        f'source <("{LASTCALL}" completion bash)\nbind "set bell-style none"\nPS1="ready> "\n'
    )
    types(["bash", "--noprofile", "--rcfile", str(rc), "-i"], "lastcall sta\t--out\tjs\t\n",
          "lastcall status --output json", tmp_path)  # fmt: skip


@pytest.mark.parametrize(("keys", "words"), [
    ("sta\t--out\tjs\t", "status --output=json"),
    ("status --output js\t", "status --output json"),
    ("run --tty -- cat one\t", "run --tty -- cat one.yaml"),
    ("run -- lastcall sta\t", "run -- lastcall status"),
])  # fmt: skip
def test_a_real_zsh_completes_at_the_key(tmp_path, keys, words):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "one.yaml").touch()
    (tmp_path / "_lastcall").write_text(lastcall("completion", "zsh").stdout)
    (tmp_path / ".zshrc").write_text(
        "fpath=($ZDOTDIR $fpath)\nautoload -Uz compinit\ncompinit -u -D\nsetopt nobeep\n"
        "lastcall() { print -r -- \"ran <$*>\" }\nPS1='ready> '\n"
    )
    types(["zsh", "-d", "-i"], f"lastcall {keys}\n", f"ran <{words}>", tmp_path,
          ZDOTDIR=str(tmp_path))  # fmt: skip


def test_fish_completes_what_follows_the_dashes_as_a_command_line(tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "one.yaml").touch()
    (tmp_path / "lastcall.fish").write_text(lastcall("completion", "fish").stdout)

    def words(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", 'source lastcall.fish; complete -C "$argv"', line],
            capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return [word.partition("\t")[0] for word in done.stdout.splitlines()]

    assert words("lastcall run -- cat one") == ["one.yaml"]
    assert "basename" in words("lastcall run --tty -- basena")
    assert words("lastcall run -- lastcall sta") == ["status"]
    assert words("lastcall status --output j") == ["json"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_takes_its_script(shell):
    script = lastcall("completion", shell)
    assert (script.returncode, script.stderr) == (0, "")
    for command in subcommands():
        assert command in script.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-n", "/dev/stdin"], input=script.stdout, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_that_is_not_known_is_2():
    assert lastcall("completion", "tcsh").returncode == 2
    assert lastcall("completion").returncode == 2


# --- installation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "program"), [("lastcall", "bin/lastcall"), ("shim", "bin/lastcall-shim"),
                               ("router", "bin/lastcall-router"), ("sdk", "lib/liblastcall.a")],
)  # fmt: skip
def test_a_component_installs_its_own_part_alone(tmp_path, component, program):
    done = subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", str(tmp_path), "--component", component],
        capture_output=True, text=True, timeout=6 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert program in installed
    programs = {"bin/lastcall", "bin/lastcall-shim", "bin/lastcall-router", "lib/liblastcall.a"}
    others = programs - {program}
    assert not installed & others
    folders = {path.split("/")[0] for path in installed}
    expected = {"lastcall": {"bin", "libexec", "share"}, "shim": {"bin", "share"},
                "router": {"bin", "share"}, "sdk": {"include", "lib"}}  # fmt: skip
    assert folders == expected[component]


def test_install_puts_everything_in_its_place(tmp_path):
    done = subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", str(tmp_path)],
        capture_output=True, text=True, timeout=6 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    targets = {path for path in installed if path.startswith("lib/cmake/lastcall/lastcall_targets")}
    assert "lib/cmake/lastcall/lastcall_targets.cmake" in targets
    assert installed - targets == {
        "bin/kubectl-lastcall",
        "bin/lastcall",
        "bin/lastcall-doctor",
        "bin/lastcall-kube",
        "bin/lastcall-router",
        "bin/lastcall-shim",
        "include/lastcall/client.hpp",
        "include/lastcall/curl.hpp",
        "include/lastcall/errors.hpp",
        "include/lastcall/outgoing.hpp",
        "include/lastcall/request_context.hpp",
        "include/lastcall/stop_channel.hpp",
        "include/lastcall/words.hpp",
        "lib/cmake/lastcall/lastcallConfig.cmake",
        "lib/cmake/lastcall/lastcallConfigVersion.cmake",
        "lib/liblastcall.a",
        "lib/pkgconfig/lastcall.pc",
        "libexec/lastcall/lastcall",
        "share/bash-completion/completions/lastcall",
        "share/bash-completion/completions/lastcall-router",
        "share/fish/vendor_completions.d/lastcall-router.fish",
        "share/fish/vendor_completions.d/lastcall.fish",
        "share/lastcall/config.schema.json",
        "share/lastcall/router-config.schema.json",
        "share/man/man1/lastcall-router.1",
        "share/man/man1/lastcall-shim.1",
        "share/man/man1/lastcall.1",
        "share/zsh/site-functions/_lastcall",
        "share/zsh/site-functions/_lastcall-router",
    }
    version = subprocess.run(
        [tmp_path / "bin/lastcall", "version"], capture_output=True, text=True, check=False
    )
    assert version.stdout.startswith("lastcall ")
    script = (tmp_path / "share/bash-completion/completions/lastcall").read_text()
    assert script == lastcall("completion", "bash").stdout
