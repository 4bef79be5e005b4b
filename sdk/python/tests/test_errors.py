"""The exceptions as values: they are copied, pickled, and cross processes."""

import copy
import os
import pickle
import subprocess
import sys

import pytest
from test_process import SDK

import lastcall
from lastcall.remote import CallFailed, NoInstance

ERRORS = [
    lastcall.Cancelled("r", "migrate"),
    lastcall.Rejected("r", "overloaded", 1.5, limit=8, count=9, detail="the load"),
    lastcall.LastcallError("plain"),
    CallFailed("http://a: status 500", 500, {"type": "x"}),
    NoInstance("nobody serves a.b.c"),
]


def pickled(error):
    return pickle.loads(pickle.dumps(error))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_copy_of_an_error_has_everything_that_the_error_has(error, copied):
    other = copied(error)
    assert type(other) is type(error)
    assert (str(other), vars(other)) == (str(error), vars(error))
    assert getattr(other, "kind", None) == getattr(error, "kind", None)


SCRIPT = """
import lastcall
from concurrent.futures import ProcessPoolExecutor
def work(): raise lastcall.Cancelled("r", "migrate")
if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        for _ in range(2):
            try: pool.submit(work).result()
            except lastcall.Cancelled as error: print(error.request_id, error.reason)
"""


def test_an_error_of_a_worker_process_reaches_its_caller_and_the_pool_goes_on(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": SDK},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "r migrate\nr migrate\n"), done.stderr
