"""A real server that is to load the middleware with settings that cannot be used."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINE = """
import lastcall.asgi
from starlette.applications import Starlette

app = Starlette()
app.add_middleware(lastcall.asgi.Middleware)
"""
BY_NAME = """
import importlib
from starlette.applications import Starlette

app = Starlette()
app.add_middleware(importlib.import_module("lastcall.asgi").Middleware)  # vllm --middleware
"""


def serve(folder, engine, *arguments, **environment):
    (folder / "engine.py").write_text(engine)
    paths = os.pathsep.join([str(folder), SDK])
    return subprocess.run(
        [sys.executable, "-m", "uvicorn", "--port", "0", *arguments, "engine:app"],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("engine", [ENGINE, BY_NAME], ids=["added", "by name"])
@pytest.mark.parametrize("lifespan", ["auto", "off"])
def test_a_server_does_not_start_with_a_bad_variable(tmp_path, engine, lifespan):
    done = serve(tmp_path, engine, "--lifespan", lifespan, LASTCALL_ASGI_ADMIT="maybe")
    assert done.returncode != 0
    [*_, last] = done.stderr.splitlines()
    assert last.partition(": ")[2] == (
        "lastcall.asgi: LASTCALL_ASGI_ADMIT: 'maybe': expected true or false"
    )
    assert "Uvicorn running" not in done.stderr


@pytest.mark.parametrize("lifespan", ["auto", "off"])
def test_a_server_does_not_start_with_a_socket_that_cannot_be_one(tmp_path, lifespan):
    done = serve(tmp_path, ENGINE, "--lifespan", lifespan, LASTCALL_SOCKET="/tmp/" + "x" * 107)
    assert done.returncode != 0
    [*_, last] = done.stderr.splitlines()
    assert "lastcall.asgi: LASTCALL_SOCKET: " in last
    assert last.endswith("a Unix socket path has at most 107")
    assert "Uvicorn running" not in done.stderr
