"""A supervisor that cannot be reached."""

import logging
import os
import pathlib

import pytest
from strict_supervisor import FakeSupervisor, eventually

import lastcall
from lastcall import dial


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dial, "COMPLAIN_AFTER", 0.0)


def complaints(caplog):
    return [each.getMessage() for each in caplog.records if "cannot connect" in each.getMessage()]


def test_an_absence_that_lasts_is_reported_once_with_its_cause(
    impatient, path, make_client, caplog, monkeypatch
):
    attempts = []
    failed = dial.Dialer._failed

    def count(self, error):
        failed(self, error)
        attempts.append(error)

    monkeypatch.setattr(dial.Dialer, "_failed", count)
    os.mkdir(path)  # as any path that is wrong, or that this user may not use
    with caplog.at_level(logging.WARNING, "lastcall"):
        client = make_client()
        eventually(lambda: len(attempts) >= 5)
        line = f"cannot connect to the lastcall supervisor at {path}: Connection refused"
        assert complaints(caplog) == [f"{line}; trying again"]
        os.rmdir(path)
        eventually(lambda: len(complaints(caplog)) == 2)  # another cause is news
        assert "No such file or directory" in complaints(caplog)[1]
        with FakeSupervisor(path):
            eventually(lambda: client.connected)


def test_a_supervisor_that_is_late_is_not_reported(path, make_client, caplog):
    client = make_client()
    with FakeSupervisor(path):
        eventually(lambda: client.connected)
    assert complaints(caplog) == []


def test_the_socket_may_be_a_path_object(supervisor, path):
    with lastcall.Client("test", socket=pathlib.Path(path)) as client:
        eventually(lambda: client.connected)


def test_a_path_with_a_zero_byte_is_refused():
    with pytest.raises(lastcall.InvalidArgument, match="without a zero byte"):
        lastcall.Client("test", socket="/tmp/a\0b")
