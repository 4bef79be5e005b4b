"""The package as others get it: its grammar, its types, its wheel and source archive."""

import ast
import os
import re
import shutil
import subprocess
import sys
import venv

import pytest

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULES = sorted(name for name in os.listdir(os.path.join(SDK, "lastcall")) if name.endswith(".py"))
OPTIONAL = {"httpx.py", "aiohttp.py"}  # need what they are for


def run(*command, timeout=170, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def parse(text, name="sample"):
    return ast.parse(text, name, feature_version=(3, 9))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_keeps_to_the_grammar_of_python_3_9(name):
    with open(os.path.join(SDK, "lastcall", name), encoding="utf-8") as file:
        parse(file.read(), name)


def test_newer_grammar_is_noticed():
    with pytest.raises(SyntaxError):
        parse("match x:\n    case 1: pass\n")


def test_the_core_needs_nothing_but_the_standard_library():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import lastcall, lastcall.asgi\n"
        "outside = {m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(m for m in outside if not m.startswith('_')))"
    )
    if not hasattr(sys, "stdlib_module_names"):
        pytest.skip("this Python does not know its standard library")
    assert run(sys.executable, "-I", "-S", "-c", code, SDK).strip() == "['lastcall']"


@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_an_extra_that_is_missing_is_named(tmp_path, name):
    (tmp_path / name).write_text("raise ImportError('not here')\n")
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        f"try: import lastcall.{name[:-3]}\n"
        "except ImportError as error: print(error)"
    )
    said = run(sys.executable, "-S", "-c", code, str(tmp_path), SDK)
    assert f"pip install 'lastcall[{name[:-3]}]'" in said


USES = """
async def use() -> list[str]:
    tokens = [token async for token in generate("once", request_id="r1")]
    return tokens + [token async for token in generate("again")]


async def misuse() -> list[int]:
    return [token async for token in generate("once")]
"""


def test_the_main_example_passes_mypy_where_it_is_used(tmp_path):
    """The one mistake in it is found, so the result has its type and not Any."""
    mypy = shutil.which("mypy") or pytest.skip("mypy is not installed (Debian: mypy)")
    with open(os.path.join(SDK, "../../docs/getting-started.md")) as page:
        [example] = re.findall(r"```python\n(.*?)```", page.read(), re.DOTALL)
    engine = "from typing import Any\n\nengine: Any = None\n"
    (tmp_path / "example.py").write_text(engine + example + USES)
    said = subprocess.run(
        [mypy, "--strict", "--cache-dir", str(tmp_path / "cache"), "example.py"], cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(SDK)}, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    errors = [line for line in said.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and 'comprehension has incompatible type List[str]' in errors[0], (
        said.stdout + said.stderr)


def test_mypy_finds_nothing_in_strict_mode(tmp_path):
    mypy = shutil.which("mypy") or pytest.skip("mypy is not installed (Debian: mypy)")
    # mypy reads the types of all imports each time, which takes minutes on a busy machine.
    said = run(mypy, "--cache-dir", str(tmp_path), cwd=SDK, timeout=900)
    assert "no issues found" in said


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy: a build leaves its traces beside what it builds."""
    copy = tmp_path_factory.mktemp("sources") / "python"
    shutil.copytree(SDK, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return copy


def build(sources, target, kind):
    """By the backend itself, with what this Python has: nothing is downloaded."""
    pytest.importorskip("setuptools", "61")
    pytest.importorskip("wheel")
    code = f"import sys\nfrom setuptools import build_meta\nbuild_meta.build_{kind}(sys.argv[1])"
    target.mkdir(exist_ok=True)
    run(sys.executable, "-c", code, str(target), cwd=sources)
    [built] = target.iterdir()
    return built


USE = """
import asyncio, os, sys
import lastcall, lastcall.asgi
assert lastcall.__file__.startswith(sys.prefix), lastcall.__file__
assert os.path.exists(os.path.join(os.path.dirname(lastcall.__file__), "py.typed"))
client = lastcall.connect()
@client.endpoint("generate")
async def generate(request, context):
    yield context.id()
async def main():
    async for item in generate(None, request_id="r"):
        print(item)
asyncio.run(main())
client.close()
"""


# Nothing may be sent before the client is connected: wait for it, which an engine would not do.
CONNECT = "client = lastcall.connect()\n"
USE_CONNECTED = USE.replace(
    CONNECT, CONNECT + "import time\nwhile not client.connected: time.sleep(0.01)\n"
)


@pytest.mark.parametrize("minor", range(9, 15))
def test_it_works_on_every_python_that_is_here(supervisor, path, tmp_path, minor):
    python = shutil.which(f"python3.{minor}")
    # A version manager has commands of versions that are switched off.
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"there is no python3.{minor} here")
    code = "\n".join(line for line in USE_CONNECTED.splitlines() if "sys.prefix" not in line)
    environment = {**os.environ, "LASTCALL_SOCKET": path, "PYTHONPATH": SDK}
    said = run(python, "-W", "error", "-c", code, cwd=tmp_path, env=environment)
    assert said.strip() == "r"
    assert supervisor.wait("request.end", id="r")["outcome"] == "completed"


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_built_package_installs_in_a_fresh_environment_and_works(
    supervisor, path, sources, tmp_path, kind
):
    built = build(sources, tmp_path / kind, kind)
    fresh = tmp_path / "venv"
    venv.create(fresh)
    python = fresh / "bin" / "python"
    # A source archive is built with the setuptools that are here, not with downloaded ones.
    if kind == "sdist":
        shutil.unpack_archive(built, tmp_path / "unpacked")
        [folder] = (tmp_path / "unpacked").iterdir()
        built = build(folder, tmp_path / "again", "wheel")
    pip = (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check")
    run(*pip, "install", "--no-index", "--no-deps", str(built))
    environment = {**os.environ, "LASTCALL_SOCKET": path}
    environment.pop("PYTHONPATH", None)
    assert run(python, "-c", USE_CONNECTED, cwd=tmp_path, env=environment).strip() == "r"
    assert supervisor.wait("request.end", id="r")["outcome"] == "completed"


def test_the_archives_hold_every_module_and_the_mark_of_types(sources, tmp_path):
    expected = {f"lastcall/{name}" for name in [*MODULES, "py.typed"]}
    for kind in ("wheel", "sdist"):
        built = build(sources, tmp_path / kind, kind)
        unpacked = tmp_path / f"{kind}-unpacked"
        shutil.unpack_archive(built, unpacked, "zip" if kind == "wheel" else "gztar")
        [folder] = [each.parent for each in unpacked.rglob("lastcall") if each.is_dir()]
        held = {f"lastcall/{each.name}" for each in (folder / "lastcall").iterdir()}
        assert held == expected
