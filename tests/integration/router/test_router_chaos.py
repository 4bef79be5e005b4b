"""A few of the fleets of chaos.py, those that have shown something once among them."""

import chaos
import pytest


@pytest.mark.plain_build  # Python's engines are what takes its time
@pytest.mark.parametrize("seed", [167, 210, 237])
def test_a_fleet_with_faults_loses_no_answer(seed, tmp_path, capsys):
    failed, users, _ = chaos.live(seed, str(tmp_path))
    assert users == 30
    assert not failed, capsys.readouterr().out
