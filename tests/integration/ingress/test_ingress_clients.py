"""Real clients get the same from nginx and the ingress, or docs/ingress.md says where not."""

import os
import subprocess
import sys

import conformance_clients as clients
import pytest
from conformance_cases import (
    ADDED_BY_INGRESS,
    CASES,
    DIFFERENT,
    ENGINE_AWAY,
    MOST,
    OTHER_ROWS,
    described,
    rows_of_the_page,
    without_added,
)
from nginx import NGINX, Nginx, listens
from ports import free_port
from serve_peer import wait_until
from serve_world import BUILD, SLEEPER

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx-light is not installed")

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "conformance_engine.py")
TOOLS = os.path.abspath(os.path.join(BUILD, "../tools/openai"))


class Both:
    """nginx and the ingress before one engine; `ports` has both by name."""

    def __init__(self, world, folder):
        engine = free_port()
        address = f"127.0.0.1:{engine}"
        self.engine = subprocess.Popen([sys.executable, ENGINE, str(engine)])
        self.nginx = Nginx(folder, address, MOST)
        listen = f"127.0.0.1:{free_port()}"
        one = world(ingress={"listen": listen, "upstream": address, "max_body_size": MOST},
                    health={"checks": []})  # fmt: skip
        one.process = one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        wait_until(lambda: listens(engine), "the engine listens")
        self.ports = {"nginx": self.nginx.port, "ingress": int(listen.rpartition(":")[2])}

    def ask(self, client, *arguments):
        return {name: client(port, *arguments) for name, port in self.ports.items()}

    def stop_engine(self):
        self.engine.kill()
        self.engine.wait()

    def close(self):
        self.stop_engine()
        self.nginx.close()


@pytest.fixture
def both(world, tmp_path):
    made = Both(world, tmp_path)
    yield made
    made.close()


def compare(got):
    for name, nginx in got["nginx"].items():
        ours = got["ingress"][name]
        if name in DIFFERENT:
            for expected, found in zip(DIFFERENT[name], (nginx, ours), strict=True):
                about = described(found)
                assert {key: about[key] for key in expected} == expected, name
            continue
        (nginx, theirs), (ours, added) = without_added(nginx), without_added(ours)
        assert ours == nginx, name
        assert theirs in (None, []) and added in (None, ADDED_BY_INGRESS), name


@pytest.mark.parametrize("name", clients.CLIENTS)
def test_a_client_gets_the_same_of_both(both, name):
    program = clients.PROGRAMS.get(name)
    if program and clients.missing(program):
        pytest.skip(f"{program} is not installed")
    client = clients.CLIENTS[name]
    compare(both.ask(client, CASES))
    both.stop_engine()
    compare(both.ask(client, ENGINE_AWAY))


def test_the_openai_package_gets_the_same_of_both(both):
    if clients.missing("npm"):
        pytest.skip("npm is not installed")
    done = subprocess.run([os.path.join(HERE, "openai_package.sh"), TOOLS], capture_output=True,
                          timeout=150, text=True)  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"cannot install the npm package openai: {done.stderr.strip()[-300:]}")
    got = both.ask(clients.openai, TOOLS)
    nginx, ours = (got[name].pop("broken")["value"] for name in ("nginx", "ingress"))
    assert got["ingress"] == got["nginx"]
    assert got["ingress"]["stream"] == {"value": {"text": "one two three", "cut": False}}
    assert got["ingress"]["absent"] == {"error": "NotFoundError", "status": 404}
    assert nginx == {"text": "one two three", "cut": True, "type": None}
    assert ours == {"text": "one two three", "cut": True, "type": "engine_error"}


def test_wrk_gets_an_answer_to_each_request_of_both(both):
    if clients.missing("wrk"):
        pytest.skip("wrk is not installed")
    fine = {name: {"wrong": [], "some": True} for name in ("get", "post")}
    assert both.ask(clients.wrk) == {"nginx": fine, "ingress": fine}


def test_the_page_has_a_row_for_each_difference_and_no_other():
    assert rows_of_the_page() == set(DIFFERENT) | OTHER_ROWS
    assert set(DIFFERENT) <= set(CASES) | set(ENGINE_AWAY)
