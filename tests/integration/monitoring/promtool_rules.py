"""Rules of alerts, asked of promtool over series that were recorded or made."""

import subprocess

import yaml


def firing(rule_file, names, series, period_s, at_s, folder):
    """Which of these alerts fire then: promtool expects that none does, and names those that do."""
    test = {
        "rule_files": [str(rule_file)], "evaluation_interval": f"{period_s}s",
        "tests": [{
            "interval": f"{period_s}s", "input_series": series,
            "promql_expr_test": [
                {"expr": f"count(ALERTS{{alertname='{name}',alertstate='firing'}})",
                 "eval_time": f"{at_s}s", "exp_samples": []}
                for name in names
            ],
        }],
    }  # fmt: skip
    file = folder / "test.yaml"
    file.write_text(yaml.safe_dump(test))
    done = subprocess.run(
        ["promtool", "test", "rules", file], capture_output=True, text=True, timeout=60
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0 or "expr:" in said, said
    return [name for name in names if f"alertname='{name}'" in said]
