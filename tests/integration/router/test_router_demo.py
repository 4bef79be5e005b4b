"""The second part of `./dev run`: what it shows holds, and it would report it if it did not."""

import os
import re
import subprocess
import sys

import pytest
from router_world import ROUTER
from serve_peer import PATIENCE
from serve_world import LASTCALL

DEMO = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../examples/migration"))
sys.path += [DEMO, os.path.join(DEMO, "../demo_engine")]

import migration  # noqa: E402


@pytest.mark.plain_build  # Python's engines are what takes its time
def test_answers_outlive_a_rollout_and_a_kill():
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(DEMO, "migration.py"), LASTCALL, ROUTER],
        capture_output=True, text=True, timeout=4 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"whole: word0 to word\d+, one id", done.stdout)) == 6
    assert "clean: 6 answers" in done.stdout


def test_answers_are_longer_where_an_engine_starts_slowly():
    assert migration.length_for(0.5) == migration.WORDS
    for start in (2.0, 8.0):  # of a machine on which the third engine takes as long
        assert migration.length_for(start) / migration.RATE > start + 5


def client_with(text, ids=("a",), ends=("length",), done=1):
    made = migration.Client(1, 1, migration.TEXT)
    made.text, made.ids, made.ends, made.done = text, set(ids), list(ends), done
    return made


def words(first, last):
    return "".join(f"word{number} " for number in range(first, last))


def test_a_seam_is_seen():
    whole = words(0, migration.WORDS)
    assert client_with(whole).verdict()[0]
    for text, words_of_it in (
        (words(0, 50) + words(49, migration.WORDS - 1), "WRONG at word 50"),
        (words(0, 50) + words(51, migration.WORDS), "WRONG at word 50"),
        (words(0, migration.WORDS - 1), f"WRONG at word {migration.WORDS - 1}"),
        (whole + "word110 ", f"WRONG at word {migration.WORDS}"),
    ):
        is_whole, said = client_with(text).verdict()
        assert not is_whole and words_of_it in said
    for wrong in ({"ids": ("a", "b")}, {"ends": ("length", "length")}, {"done": 0}):
        assert not client_with(whole, **wrong).verdict()[0]


def test_the_demo_claims_no_more_than_it_shows(capsys):
    whole = client_with(words(0, migration.WORDS))
    assert migration.conclude([whole], [0, 1], {"eof": 1}) == 0
    assert migration.conclude([whole], [0, 0], {"eof": 1}) == 1
    assert migration.conclude([whole], [0, 1], {}) == 1
    assert migration.conclude([client_with("word0 ")], [0, 1], {"eof": 1}) == 1
    assert "NOT clean" in capsys.readouterr().out
