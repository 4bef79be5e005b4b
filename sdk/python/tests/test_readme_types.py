"""The examples of README.md as two type checkers see them, each in its strictest mode.

A user pastes them into a program whose CI has such a checker. What an example leaves to the reader
(an engine, a way to write) is handed to it; all else is read as it stands in the page.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.environ.get("LASTCALL_TOOLS", os.path.join(SDK, "../../build/tools"))
with open(os.path.join(SDK, "README.md"), encoding="utf-8") as file:
    EXAMPLES = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)

# What is handed to the example that has these words. None: it is a whole file.
GIVEN = {
    "async def chat(": None,
    "runpy.run_path": None,
    'lastcall.connect("vllm-0")': "engine: Engine, prompt: str, request_id: str, send: Send",
    "@client.endpoint(": "client: lastcall.Client, engine: Engine, prompt: str",
    "async def answer(": "generate: Generate",
    "import stream ": "httpx_client: httpx.AsyncClient, context: lastcall.Context, "
                      "url: str, body: dict[str, Any]",
    "import stream_sync ": "context: lastcall.Context, url: str, body: dict[str, Any]",
    "Endpoint(": None,
    "/v1/embeddings": "app: FastAPI, embed: Embed",
    "critical=True": "app: FastAPI",
}  # fmt: skip
SURROUNDINGS = """from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol
import httpx
import lastcall
import lastcall.asgi
from fastapi import FastAPI, Request

Tokens = AsyncGenerator[str, None]
Send = Callable[[str], Awaitable[None]]
Embed = Callable[[str], Awaitable[list[float]]]

class Engine(Protocol):
    def generate(self, prompt: str) -> Tokens: ...

class Generate(Protocol):
    def __call__(self, prompt: str, *, request_id: str) -> Tokens: ...

class Response(Protocol):
    async def write(self, data: bytes) -> None: ...
    async def finish(self) -> None: ...
    async def refuse(self, status: int, body: dict[str, Any]) -> None: ...
    def break_off(self) -> None: ...

async def example(%s) -> None:
%s"""
# Debian's uvicorn has lost the mark that says that it is typed.
UVICORN = "from typing import Any\ndef run(app: Any, **options: Any) -> None: ...\n"
# A decorated function keeps its type, and an option of connect() that does not exist is found.
DECORATED = """import lastcall

client = lastcall.connect()
lastcall.connect(critcal=True)  # type: ignore[call-arg]

@client.on_health
async def health() -> tuple[str, str]:
    return "busy", "compiles"

@client.on_cleanup
def clean_up(left: float) -> int:
    return round(left)

@client.on_deregister
def leave() -> str:
    return "left"

@client.on_phase
def show(phase: str, width: int = 80) -> str:
    return phase[:width]

async def main() -> tuple[str, int, str]:
    status, _ = await health()
    return status + leave(), clean_up(left=1.5), show("serving", width=4)
"""
MISTAKE = "\n\ndef mistake() -> int:\n    return lastcall.__version__\n"


def whole_file(example):
    [given] = [given for words, given in GIVEN.items() if words in example]
    return example if given is None else SURROUNDINGS % (given, textwrap.indent(example, "    "))


@pytest.fixture
def files(tmp_path):
    """A file for each example, and one with a mistake that a checker has to find."""
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    for number, example in enumerate(EXAMPLES):
        (tmp_path / f"example_{number}.py").write_text(whole_file(example))
    (tmp_path / "mistaken.py").write_text("import lastcall" + MISTAKE)
    (tmp_path / "decorated.py").write_text(DECORATED)
    (tmp_path / "uvicorn.py").write_text(UVICORN)
    return tmp_path


def checked(files, *command):
    """The lines of the checker's errors but the one that has to be there."""
    environment = {**os.environ, "MYPYPATH": SDK}
    done = subprocess.run(command, cwd=files, env=environment, capture_output=True, text=True,
                          timeout=900)  # fmt: skip
    errors = [line.strip() for line in done.stdout.splitlines() if "error:" in line]
    found = [line for line in errors if "mistaken.py" in line]
    assert len(found) == 1, done.stdout + done.stderr
    return [line for line in errors if line not in found]


def test_every_example_is_known_here():
    assert len(EXAMPLES) == len(GIVEN)
    assert all(whole_file(example) for example in EXAMPLES)


def test_mypy_finds_nothing_in_the_examples(files):
    mypy = shutil.which("mypy") or pytest.skip("mypy is not installed (Debian: mypy)")
    names = sorted(path.name for path in files.glob("*.py"))
    assert checked(files, mypy, "--strict", "--cache-dir", "cache", *names) == []


def test_pyright_finds_nothing_in_the_examples(files):
    pyright = shutil.which("pyright", path=os.pathsep.join([os.environ["PATH"], TOOLS]))
    if pyright is None:
        pytest.skip("pyright is not installed (sdk/python/pyright.sh)")
    # The last two would be about the surroundings.
    settings = {"include": ["."], "typeCheckingMode": "strict", "extraPaths": [SDK],
                "reportUnusedFunction": False, "reportUnusedImport": False}  # fmt: skip
    (files / "pyrightconfig.json").write_text(json.dumps(settings))
    assert checked(files, pyright, "--pythonpath", sys.executable) == []
