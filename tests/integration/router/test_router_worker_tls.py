"""Workers that speak TLS, the router's own certificate, and what is reported where that fails."""

import json
import ssl

import pytest
from certificates import Authority
from kinds_of_engines import KindOfEngine
from nginx import NGINX, Nginx
from router_world import command
from serve_peer import wait_until
from sim_fleet import User

TOKENS = 8


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def engine():
    made = []

    def make(context, kind="text", **knobs):
        made.append(KindOfEngine(kind, tls=context, **knobs))
        return made[-1]

    yield make
    for each in made:
        each.close()


def at(*engines, host="127.0.0.1"):
    return {"static": {"urls": [f"https://{host}:{each.port}" for each in engines], "model": "m"}}


def user(one, content="x"):
    return User(one.port, content, True, TOKENS, model="m")


def test_a_stream_of_a_worker_with_tls_is_whole_and_its_connection_is_kept(
    router, authority, engine
):
    worker = engine(authority.server_context("w"))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    for _ in range(5):
        assert user(one).is_whole()
    assert worker.connections == 1


def test_a_body_of_many_records_arrives_whole(router, authority, engine):
    worker = engine(authority.server_context("w"))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    words = "word " * 400_000
    assert user(one, words).is_whole()
    assert worker.bodies[0]["messages"][0]["content"] == words


@pytest.mark.skipif(not NGINX, reason="nginx is not installed")
def test_a_worker_behind_nginx_with_tls_is_reached(router, authority, engine, tmp_path):
    worker = engine(None)
    front = Nginx(str(tmp_path), worker.address, "10m", tls=authority.sign("front"))
    try:
        one = router(at(front), worker_tls={"ca_file": authority.certificate})
        words = "word " * 400_000
        for _ in range(3):
            assert user(one, words).is_whole()
    finally:
        front.close()


def test_an_answer_goes_on_at_another_worker_with_tls(router, authority, engine):
    dying = engine(authority.server_context("w1"), dies_at=3)
    other = engine(authority.server_context("w2"))
    one = router(at(dying, other), worker_tls={"ca_file": authority.certificate})
    while not dying.bodies:
        assert user(one).is_whole()
    assert one.metric("lastcall_router_migrations_total", reason="eof") >= 1


def test_a_worker_is_asked_what_it_can_over_tls(router, authority, engine):
    worker = engine(authority.server_context("w"), kind="vllm")
    one = router(at(worker), worker_tls={"ca_file": authority.certificate},
                 migration={"by": "auto"})  # fmt: skip
    line = f"worker https://127.0.0.1:{worker.port}: chat vllm_ids, completions vllm_ids"
    wait_until(lambda: line in one.operator("/readyz?verbose")[1], "it is known")


def test_a_worker_of_another_authority_gets_nothing_and_the_cause_is_logged(
    router, authority, engine, tmp_path
):
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    worker = engine(stranger.server_context("w"))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    assert worker.bodies == []
    log = one.log()
    assert "a TLS connection to a worker failed" in log and "issuer certificate" in log


@pytest.mark.parametrize(("name", "status"), [("workers.test", 200), ("others.test", 503)])
def test_a_certificate_has_to_be_one_for_the_name(router, authority, engine, name, status):
    worker = engine(authority.server_context("w", "DNS:workers.test"))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate, "server_name": name})
    body = {"model": "m", "prompt": "x", "max_tokens": 1, "stream": True}
    assert one.ask("POST", "/v1/completions", body)[0] == status
    assert ("mismatch" in one.log().lower()) == (status != 200)


def test_an_address_is_compared_as_one(router, authority, engine):
    worker = engine(authority.server_context("w", "IP:127.0.0.2"))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    assert "IP address mismatch" in one.log()


def asks_for_certificates(authority):
    context = authority.server_context("w")
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_worker_that_asks_for_a_certificate_gets_it(router, authority, engine):
    worker = engine(asks_for_certificates(authority))
    certificate, key = authority.sign("router")
    files = {"ca_file": authority.certificate, "cert_file": certificate, "key_file": key}
    assert user(router(at(worker), worker_tls=files)).is_whole()


def test_without_a_certificate_such_a_worker_is_given_up_and_that_is_logged(
    router, authority, engine
):
    worker = engine(asks_for_certificates(authority))
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] in (502, 503)
    assert "certificate required" in one.log()


def test_a_worker_without_tls_behind_https_is_reported(router, authority, engine):
    worker = engine(None)
    one = router(at(worker), worker_tls={"ca_file": authority.certificate})
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    assert "wrong version number" in one.log()


def test_a_handshake_that_takes_too_long_is_reported(router, engines):
    silent = engines[0]
    source = {"static": {"urls": [f"https://{silent.address}"], "model": "m"}}
    one = router(source, timeouts={"connect": "100ms"})
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    assert silent.connection().until(b"\x01").startswith(b"\x16")  # it was greeted
    log = one.log()
    assert "a TLS connection to a worker failed" in log and "took too long" in log


@pytest.mark.parametrize("key", ["ca_file", "cert_file", "key_file"])
def test_a_file_that_cannot_be_used_ends_the_start_with_its_name(authority, tmp_path, key):
    certificate, private = authority.sign("router")
    files = {"ca_file": authority.certificate, "cert_file": certificate, "key_file": private}
    files[key] = str(tmp_path / "bad.pem")
    (tmp_path / "bad.pem").write_text("no PEM")
    config = tmp_path / "router.yaml"
    config.write_text(json.dumps({
        "listen": "127.0.0.1:0", "operators": "127.0.0.1:0", "worker_tls": files,
        "workers": [{"static": {"urls": ["https://127.0.0.1:1"]}}],
    }))  # fmt: skip
    done = command("--config", str(config))
    assert done.returncode == 1
    assert "worker_tls: cannot use the " in done.stderr and files[key] in done.stderr


def test_an_instance_file_may_name_a_worker_with_tls(router, authority, engine, tmp_path):
    worker = engine(authority.server_context("w"))
    directory = tmp_path / "instances"
    directory.mkdir()
    text = json.dumps({"advertise": f"https://127.0.0.1:{worker.port}", "model": "m"})
    (directory / "a.json").write_text(text)
    one = router({"file": {"directory": str(directory)}},
                 worker_tls={"ca_file": authority.certificate})  # fmt: skip
    assert user(one).is_whole()
