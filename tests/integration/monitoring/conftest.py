"""Worlds of tests/integration/serve, whose metrics a real Prometheus reads."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))


@pytest.fixture
def world(tmp_path_factory):
    """Makes worlds; nothing of them outlives the test."""
    from serve_world import worlds

    with worlds(lambda: tmp_path_factory.mktemp("w")) as make:
        yield make
