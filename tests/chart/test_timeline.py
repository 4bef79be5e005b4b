"""NOTES.txt says what happens when in a stop; `lastcall plan` is what is true."""

import re
import subprocess

import pytest
import yaml
from conftest import BUILD, DEMO, VLLM

ROW = re.compile(r"^ *\d+\.\d{3}s  \S.*$", re.MULTILINE)


def planned(helm, folder, *arguments):
    """The timeline of the configuration that the chart renders, by the program itself."""
    objects = helm.objects(*arguments)
    config = folder / "lastcall.yaml"
    config.write_text(objects["ConfigMap"]["data"]["lastcall.yaml"])
    yaml.safe_load(config.read_text())
    grace = objects["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    done = subprocess.run(
        [BUILD / "supervisor/cli/lastcall", "plan", "--config", config, "--pod-grace", f"{grace}s"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return ROW.findall(done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-f", DEMO),
        ("-f", VLLM),
        ("-f", DEMO, "--set", "config.shutdown.grace_period=1500ms",
         "--set", "config.shutdown.deregister_timeout=100ms",
         "--set", "config.shutdown.late_accept=33ms",
         "--set", "config.shutdown.cleanup_reserve=701ms",
         "--set", "config.shutdown.cancel_settle=77ms"),
        ("-f", DEMO, "--set", "config.shutdown.grace_period=7s",
         "--set", "config.shutdown.cleanup_reserve=1s",
         "--set", "config.shutdown.cancel_settle=0s",
         "--set", "config.shutdown.deregister_timeout=1s",
         "--set", "config.shutdown.late_accept=2s"),
        ("-f", DEMO, "--set", "config.shutdown.migrate=at_start",
         "--set", "config.engine.stop_signal=SIGINT", "--set", "config.shutdown.grace_period=2m"),
        ("-f", DEMO, "--set", "terminationGracePeriodSeconds=300"),
        ("-f", DEMO, "--set", "mode=prestop"),
    ],
    ids=["demo", "vllm", "odd", "small_reserve", "at_start", "roomy", "prestop"],
)  # fmt: skip
def test_the_notes_and_the_program_give_the_same_timeline(helm, tmp_path, arguments):
    expected = planned(helm, tmp_path, *arguments)
    assert len(expected) >= 6
    assert ROW.findall(helm.notes(*arguments)) == expected


def test_the_rendered_configuration_is_one_that_lastcall_accepts(helm, accepted):
    for values in (DEMO, VLLM):
        assert accepted(helm.config("-f", values))
