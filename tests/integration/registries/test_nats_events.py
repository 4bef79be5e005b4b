"""Phases, drain progress and the engine's verdict, as a subscriber of a real NATS sees them."""

import contextlib
import os
import shutil
import signal
import sys

import pytest
from certificates import Authority
from nats_server import Nats, Subscriber
from ports import free_port
from serve_peer import PATIENCE, wait_until
from serve_world import SLEEPER

sys.path.append(os.path.join(os.path.dirname(__file__), "../ingress"))

from raw_engine import SSE_HEAD, RawEngine, chunk, client, post  # noqa: E402

PASSWORD = "battery-staple-9"

# ThreadSanitizer ends the supervisor where the threads of the NATS library read and write the
# same TLS connection while the server ends it.
without_sanitizers = pytest.mark.plain_build


@pytest.fixture
def natses(tmp_path):
    with contextlib.ExitStack() as opened:

        def make(**how):
            return opened.enter_context(contextlib.closing(Nats(str(tmp_path), **how)))

        make.subscribe = lambda *args, **how: opened.enter_context(
            contextlib.closing(Subscriber(*args, **how))
        )
        yield make


def start(world, url, nats=None, config=None, **environment):
    one = world(events={"nats": {"url": url, **(nats or {})}}, **(config or {}))
    one.process = one.run(*SLEEPER, LASTCALL_POD_UID="pod-1", **environment)
    return one


def test_a_stop_is_published_by_phase_and_the_disconnect_is_in_the_report(world, natses):
    server = natses()
    subscriber = natses.subscribe(server)
    identity = {"namespace": "ns", "component": "c", "model": "m"}
    one = start(world, server.url, config={"identity": identity})
    serving = subscriber.wait_for("phase", phase="serving")
    assert (serving["namespace"], serving["component"], serving["endpoint"]) == (
        "ns", "c", "generate",
    )  # fmt: skip
    assert serving["pod_uid"] == "pod-1" and serving["model"] == "m"
    assert serving["time"].endswith("Z")
    peer = one.peer()
    peer.ask("request.begin", id="r1", endpoint="generate")
    one.process.send_signal(signal.SIGTERM)
    stopping = subscriber.wait_for("stop")
    assert stopping["mode"] == "graceful" and stopping["left_ms"] > 0
    assert subscriber.wait_for("drain", in_flight=1)["active_graceful_endpoints"] == 1
    peer.ask("request.end", id="r1", outcome="completed")
    assert one.process.wait(timeout=PATIENCE) == 0
    phases = [message["phase"] for message in subscriber.of("phase")]
    assert phases[-3:] == ["deregistering", "draining", "cleaning_up"]
    ended = [(m["phase"], m["outcome"]) for m in subscriber.of("phase_ended")]
    assert ended[-2:] == [("deregistering", "completed"), ("draining", "completed")]
    assert one.report()["cleanup"]["events"]["outcome"] == "completed"


def test_a_server_that_comes_later_receives_the_next_event(world, natses):
    server = natses()
    server.kill()
    one = start(world, server.url)
    one.wait_for_log("events cannot be published")
    one.wait_for_phase("serving")
    server.start()
    subscriber = natses.subscribe(server)
    operator = one.operator()
    wait_until(lambda: _drains_and_resumes(one, operator, subscriber), "an event after a while")

    # What waited is sent when the connection stands; with the first event after that it is logged.
    def is_logged():
        return _drains_and_resumes(one, operator, subscriber) and "are published" in one.log()

    wait_until(is_logged, "the log reports that events are published")


def _drains_and_resumes(one, operator, subscriber):
    operator.ask("drain")
    one.wait_for_phase("drained")
    operator.ask("resume")
    one.wait_for_phase("serving")
    return subscriber.messages


def test_a_server_that_hangs_costs_its_half_second_only(world, natses):
    server = natses()
    subscriber = natses.subscribe(server)
    one = start(world, server.url)
    subscriber.wait_for("phase", phase="serving")
    os.kill(server.process.pid, signal.SIGSTOP)
    report = one.stop()
    item = report["cleanup"]["events"]
    assert item["outcome"] in ("timed_out", "failed")
    assert item["ms"] <= 5000  # not the 7 s that the stop still has
    assert report["exit_code"] == 0


def test_a_user_with_a_password_over_tls_and_nothing_of_it_is_shown(world, natses, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    config = (
        f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
        f'authorization {{ user: worker, password: "{PASSWORD}" }}\n'
    )
    server = natses(config=config, tls=authority.client_context())
    subscriber = natses.subscribe(server, **{"user": "worker", "pass": PASSWORD})
    nats = {"username": "worker", "ca_file": authority.certificate, "subject": "lastcall.events"}
    one = start(world, server.url, nats, LASTCALL_NATS_PASSWORD=PASSWORD)
    subscriber.wait_for("phase", phase="serving")
    assert one.stop()["cleanup"]["events"]["outcome"] == "completed"
    assert PASSWORD not in one.log()


def test_a_user_who_may_not_publish_is_named_with_the_subject(world, natses):
    def limited(subject):
        permissions = f'permissions: {{ publish: "{subject}", subscribe: ">" }}'
        return f'authorization {{ users: [ {{ user: worker, password: "p", {permissions} }} ] }}\n'

    server = natses(config=limited("others.>"))
    one = start(world, server.url, {"username": "worker"}, LASTCALL_NATS_PASSWORD="p")
    one.wait_for_phase("serving")
    one.wait_for_log(f"{server.url}: the server permits no message on lastcall.events")
    assert "events are published" not in one.log()
    restart_as(server, limited("lastcall.>"))
    subscriber = natses.subscribe(server, **{"user": "worker", "pass": "p"})
    operator = one.operator()
    wait_until(lambda: receives_an_event(one, operator, subscriber), "an event", pause=0.5)
    one.wait_for_log("events are published")
    assert one.stop()["cleanup"]["events"]["outcome"] == "completed"


def test_a_stop_whose_events_are_refused_does_not_report_them_as_sent(world, natses):
    permissions = 'permissions: { publish: { deny: ">" } }'
    config = f'authorization {{ users: [ {{ user: worker, password: "p", {permissions} }} ] }}\n'
    server = natses(config=config)
    one = start(world, server.url, {"username": "worker"}, LASTCALL_NATS_PASSWORD="p")
    one.wait_for_phase("serving")
    one.wait_for_log("events cannot be published")
    item = one.stop()["cleanup"]["events"]
    assert item["outcome"] == "failed", item
    assert "permits no message" in item["detail"]


def guarded_by(password):
    return f'authorization {{ user: worker, password: "{password}" }}\n'


def receives_an_event(one, operator, subscriber):
    before = len(subscriber.messages)
    operator.ask("drain")
    one.wait_for_phase("drained")
    operator.ask("resume")
    one.wait_for_phase("serving")
    return len(subscriber.messages) > before


def test_a_password_that_was_wrong_is_read_again_when_it_is_right(world, natses, tmp_path):
    server = natses(config=guarded_by("right-horse-9"))
    subscriber = natses.subscribe(server, **{"user": "worker", "pass": "right-horse-9"})
    secret = tmp_path / "password"
    secret.write_text("wrong-horse-9\n")
    one = start(world, server.url, {"username": "worker", "password_file": str(secret)})
    wait_until(lambda: server.refusals() >= 3, "it is refused, and tries on")
    assert subscriber.messages == []
    secret.write_text("right-horse-9\n")
    assert subscriber.wait_for("phase", phase="serving"), "of before: it was kept"
    one.wait_for_log("events are published")
    assert "-horse-9" not in one.log()


def test_a_password_that_is_rotated_is_read_again(world, natses, tmp_path):
    server = natses(config=guarded_by("old"))
    subscriber = natses.subscribe(server, **{"user": "worker", "pass": "old"})
    secret = tmp_path / "password"
    secret.write_text("old\n")
    one = start(world, server.url, {"username": "worker", "password_file": str(secret)})
    subscriber.wait_for("phase", phase="serving")
    operator = one.operator()
    for password in ("new", "old"):
        server.kill()
        with open(server.config, "w") as file:
            file.write(guarded_by(password))
        server.start()
        before = server.refusals()
        wait_until(lambda before=before: server.refusals() > before, "it is refused")
        secret.write_text(password + "\n")
        subscriber = natses.subscribe(server, **{"user": "worker", "pass": password})
        wait_until(
            lambda s=subscriber: receives_an_event(one, operator, s), "an event", pause=0.5
        )


def secured_by(authority, clients_of=None):
    """A configuration for TLS; `clients_of` is the authority whose clients it serves."""
    certificate, key = authority.sign("server")
    verify = f', ca_file: "{clients_of.certificate}", verify: true' if clients_of else ""
    return f'tls {{ cert_file: "{certificate}", key_file: "{key}"{verify} }}\n'


def restart_as(server, config, tls=None):
    server.kill()
    with open(server.config, "w") as file:
        file.write(config)
    server.tls = tls
    server.start()


def replace(target, source):
    """As a renewal does: in one step."""
    shutil.copy(source, f"{target}.new")
    os.replace(f"{target}.new", target)


@without_sanitizers
def test_an_authority_that_is_replaced_is_read_again(world, natses, tmp_path):
    authorities = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        authorities.append(Authority(tmp_path / name))
    first, second = authorities
    trusted = str(tmp_path / "ca.pem")
    replace(trusted, first.certificate)
    server = natses(config=secured_by(first), tls=first.client_context())
    subscriber = natses.subscribe(server)
    one = start(world, server.url, {"ca_file": trusted})
    subscriber.wait_for("phase", phase="serving")
    restart_as(server, secured_by(second), second.client_context())
    subscriber = natses.subscribe(server)
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_log("events cannot be published")
    replace(trusted, second.certificate)
    assert subscriber.wait_for("phase", phase="drained"), "of before: it was kept"
    one.wait_for_log("events are published")
    assert one.stop()["cleanup"]["events"]["outcome"] == "completed"


@without_sanitizers
def test_a_client_certificate_that_is_renewed_is_read_again(world, natses, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")
    (tmp_path / "retired").mkdir()
    retired = Authority(tmp_path / "retired")

    def issue(signer, name):
        for target, source in zip((certificate, key), signer.sign(name), strict=True):
            replace(target, source)

    def admitted_by(trusted):
        return authority.client_context(*trusted.sign("subscriber"))

    issue(retired, "old")
    server = natses(config=secured_by(authority, retired), tls=admitted_by(retired))
    subscriber = natses.subscribe(server)
    files = {"ca_file": authority.certificate, "cert_file": certificate, "key_file": key}
    one = start(world, server.url, files)
    subscriber.wait_for("phase", phase="serving")
    restart_as(server, secured_by(authority, authority), admitted_by(authority))
    subscriber = natses.subscribe(server)
    one.operator().ask("drain")
    one.wait_for_log("events cannot be published")
    issue(authority, "new")
    assert subscriber.wait_for("phase", phase="drained"), "of before: it was kept"
    one.wait_for_log("events are published")


@pytest.mark.parametrize("wrong", ["authority", "host", "plain"])
def test_a_server_that_is_not_trusted_receives_nothing(world, natses, tmp_path, wrong):
    authority = Authority(tmp_path)
    subject = "DNS:elsewhere.example" if wrong == "host" else "IP:127.0.0.1"
    certificate, key = authority.sign("server", subject)
    tls = authority.client_context()
    tls.check_hostname = False
    secure = {"config": f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n', "tls": tls}
    server = natses(**({} if wrong == "plain" else secure))
    (tmp_path / "other").mkdir()
    trusted = Authority(tmp_path / "other") if wrong == "authority" else authority
    subscriber = natses.subscribe(server)
    one = start(world, server.url, {"ca_file": trusted.certificate})
    one.wait_for_log("events cannot be published")
    one.stop()
    assert subscriber.messages == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ca_file": "missing"},
         "cannot use the authorities: {missing}: No such file or directory"),
        ({"ca_file": "text"}, "cannot use the authorities: {text}: no certificate in PEM"),
        ({"ca_file": "folder"}, "cannot use the authorities: {folder}: Is a directory"),
        ({"cert_file": "missing", "key_file": "key"},
         "cannot use the client's certificate: {missing}: No such file or directory"),
        ({"cert_file": "certificate", "key_file": "missing"},
         "cannot use the client's certificate: {missing}: No such file or directory"),
        ({"cert_file": "certificate", "key_file": "other"},
         "cannot use the client's certificate: {certificate} and {other}: no certificate in PEM "
         "with the key that belongs to it"),
        ({"username": "u", "password_file": "missing"},
         "cannot read the password: {missing}: No such file or directory"),
        ({"credentials_file": "missing"},
         "cannot use the credentials: {missing}: No such file or directory"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_the_cause(world, natses, tmp_path, files, said):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("client")
    text = tmp_path / "text"
    text.write_text("no certificate\n")
    paths = {"missing": str(tmp_path / "missing"), "text": str(text), "folder": str(tmp_path),
             "certificate": certificate, "key": key, "other": authority.sign("other")[1]}
    server = natses()
    subscriber = natses.subscribe(server)
    one = start(world, server.url, {name: paths.get(file, file) for name, file in files.items()})
    one.wait_for_log("events cannot be published")
    logged = next(record["error"] for record in one.records()
                if record["msg"] == "events cannot be published")
    assert logged.endswith(said.format(**paths)), logged
    assert logged.startswith(server.url + ": ")
    item = one.stop()["cleanup"]["events"]
    assert item["outcome"] in ("failed", "timed_out")  # a busy machine may lack time to try again
    assert logged.endswith(item.get("detail", "").removeprefix("[...] "))
    assert subscriber.messages == []


@pytest.fixture
def engine():
    with contextlib.closing(RawEngine()) as made:
        yield made


@pytest.mark.parametrize("end", ["grace", "engine"])
def test_requests_that_are_cut_are_published_with_all_to_go_on(world, natses, engine, end):
    server = natses()
    subscriber = natses.subscribe(server)
    config = {
        "ingress": {"listen": f"127.0.0.1:{free_port()}", "upstream": engine.address},
        # The engine has its TERM after 3.5 s, and 2.5 s to end.
        "shutdown": {"grace_period": "7s", "cleanup_reserve": "3500ms"},
        "health": {"checks": []},
    }
    one = start(world, server.url, config=config)
    one.ingress_port = int(config["ingress"]["listen"].rpartition(":")[2])
    subscriber.wait_for("phase", phase="serving")
    user = client(one)
    user.send(post("/v1/chat/completions", b'{"model":"x","stream":true}', "X-Request-Id: r1"))
    wire, _ = engine.request()
    wire.until(b"}")
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n\r\n")
    if end == "grace":
        one.process.send_signal(signal.SIGTERM)
    else:
        os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    event = subscriber.wait_for("migrated")
    assert event["reason"] == ("grace_timeout" if end == "grace" else "engine_dead")
    assert event["request"] == {
        "id": "r1", "endpoint": "chat_completions", "model": "x",
        "events_sent": 1, "bytes_sent": 9,
    }  # fmt: skip
    assert event["endpoint"] == "generate", "of the instance"
    assert one.process.wait(timeout=PATIENCE) == (0 if end == "grace" else 1)


def test_being_busy_is_published_when_admission_begins_to_refuse(world, natses):
    server = natses()
    subscriber = natses.subscribe(server)
    one = start(world, server.url,
                config={"admission": {"active_decode_blocks_threshold": 0.5}})  # fmt: skip
    subscriber.wait_for("phase", phase="serving")
    peer = one.peer()
    peer.ask("load", dp_rank=0, active_decode_blocks=60, kv_total_blocks=100)
    subscriber.wait_for("busy", busy=True)
    peer.ask("load", dp_rank=0, active_decode_blocks=40, kv_total_blocks=100)
    subscriber.wait_for("busy", busy=False)
