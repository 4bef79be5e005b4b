"""A registration service that is posted to."""

import contextlib
import json
import os
import re
import signal

import pytest
from certificates import Authority
from http_service import HttpService
from serve_peer import PATIENCE, holds_for, wait_until
from serve_world import SLEEPER

ADVERTISE = "http://10.0.0.7:8000"


@pytest.fixture
def services():
    with contextlib.ExitStack() as opened:
        yield lambda **how: opened.enter_context(contextlib.closing(HttpService(**how)))


def start(world, registry, shutdown=None, **config):
    one = world(
        identity={"advertise": ADVERTISE, "model": 'm"1'},
        discovery=[{"http": registry}],
        shutdown={"grace_period": "20s", "deregister_timeout": "5s", **(shutdown or {})},
        **config,
    )
    one.process = one.run(*SLEEPER, LASTCALL_POD_UID="pod-1")
    return one


def stop(one):
    return one.stop()["registries"]


def test_registering_and_leaving_post_the_instance(world, services):
    service = services()
    one = start(world, {"url": service.url + "/workers?zone=a"})
    one.wait_for_log('"state":"registered"')
    assert stop(one) == [{"name": "http", "state": "confirmed"}]
    (path, headers, first), (other_path, _, last) = service.requests
    assert path == other_path == "/workers?zone=a"
    assert headers["Content-Type"] == "application/json"
    first, last = json.loads(first), json.loads(last)
    assert (first.pop("action"), last.pop("action")) == ("register", "deregister")
    assert first == last
    assert first["advertise"] == ADVERTISE and first["model"] == 'm"1'
    assert first["pod_uid"] == "pod-1"
    assert first["instance_hex"] == f"{first['instance_id']:x}"


def test_body_headers_token_and_another_url_to_leave_by(world, services, tmp_path):
    service = services()
    token = tmp_path / "token"
    token.write_text("first-token\n")
    one = start(
        world,
        {
            "url": service.url,
            "deregister_url": service.url + "/gone",
            "headers": ["X-Team: inference", "Content-Type: text/x-worker"],
            "token_file": str(token),
            "body": '{"do": "${action}", "at": "${advertise}", "models": ["${model}"]}',
        },
    )
    one.wait_for_log('"state":"registered"')
    token.write_text("second-token\n")
    stop(one)
    (path, headers, body), (gone_path, gone_headers, _) = service.requests
    assert json.loads(body) == {"do": "register", "at": ADVERTISE, "models": ['m"1']}
    assert (path, gone_path) == ("/", "/gone")
    assert headers["X-Team"] == "inference" and headers["Content-Type"] == "text/x-worker"
    assert headers["Authorization"] == "Bearer first-token"
    assert gone_headers["Authorization"] == "Bearer second-token"
    assert "-token" not in one.log()


def test_calls_not_answered_with_2xx_are_tried_again(world, services):
    service = services()
    service.statuses = [500, 302]
    one = start(world, {"url": service.url})
    one.wait_for_log('"state":"registered"')
    assert len(service.requests) == 3
    service.statuses = [503, 410]  # an instance that is not there has left
    assert stop(one) == [{"name": "http", "state": "confirmed"}]


def test_a_service_that_asks_for_time_gets_it_while_registering(world, services):
    service = services()
    service.statuses, service.retry_after = [429, 503], 2
    one = start(world, {"url": service.url})
    one.wait_for_log('"state":"registered"')
    first, second, third = service.times
    assert second - first >= 2 and third - second >= 2, service.times
    assert stop(one) == [{"name": "http", "state": "confirmed"}]


def test_a_service_that_asks_for_more_time_than_a_stop_has_is_asked_again_within_it(
    world, services
):
    service = services()
    one = start(world, {"url": service.url}, shutdown={"deregister_timeout": "6s"})
    one.wait_for_log('"state":"registered"')
    service.statuses, service.retry_after = [429], 3600
    assert stop(one) == [{"name": "http", "state": "confirmed"}]
    _, first, second = service.times
    assert second - first >= 2, "half of the time that was left, and not the usual 100 ms"


def test_the_body_of_an_answer_does_not_matter_however_long_it_is(world, services):
    service = services()
    service.body = b"x" * (5 * 1024 * 1024)
    one = start(world, {"url": service.url})
    one.wait_for_log('"state":"registered"')
    assert stop(one) == [{"name": "http", "state": "confirmed"}]
    assert len(service.requests) == 2


def test_a_query_is_shown_nowhere_and_the_probe_port_names_no_service(world, services):
    service = services()
    service.statuses = [503] * 99
    one = start(world, {"url": service.url + "/workers?key=hush"},
                shutdown={"deregister_timeout": "1s"}, log={"level": "debug"})  # fmt: skip
    one.wait_for_log(service.url + "/workers: HTTP status 503")
    wait_until(lambda: "it failed" in one.get("/readyz?verbose")[1], "the probe port says so")
    probe = one.get("/readyz?verbose")[1]
    assert "[-]registry-http failed: " in probe
    assert "://" not in probe and service.url.split("//")[1] not in probe
    assert service.url in json.dumps(one.status()["registries"])
    stop(one)
    assert service.requests[0][0] == "/workers?key=hush"
    assert "hush" not in one.log() + json.dumps(one.report()) + probe


def test_a_service_that_hangs_costs_the_budget_only(world, services):
    service = services()
    one = start(world, {"url": service.url}, shutdown={"deregister_timeout": "1s"})
    one.wait_for_log('"state":"registered"')
    service.hang.clear()
    [record] = stop(one)
    assert record["state"] == "failed"
    # The call and the budget end in the same moment; either may report it.
    assert "no answer within" in record["detail"] or record["detail"] == "not confirmed in time"
    assert one.report()["phases"]["deregistering"]["ms"] < 6000  # of 20 s


def test_a_slow_service_is_asked_once_and_not_waited_for_where_no_time_is_given(world, services):
    service = services()
    one = start(
        world, {"url": service.url}, shutdown={"deregister_timeout": "0s", "late_accept": "100ms",
                                               "drain_unknown": "1s"}
    )  # fmt: skip
    one.wait_for_log('"state":"registered"')
    service.hang.clear()
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: len(service.requests) == 2, "it is asked to remove the instance")
    one.wait_for_log('"phase ended","phase":"deregistering","outcome":"skipped"')
    assert len(service.requests) == 2
    service.hang.set()  # the answer comes in the drain
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"] == [{"name": "http", "state": "confirmed"}]
    assert len(service.requests) == 2


@pytest.mark.parametrize("ends_by", ["signal", "engine"])
def test_a_registry_that_did_not_confirm_gets_a_last_try_in_phase_3(world, services, ends_by):
    service = services()
    one = start(
        world, {"url": service.url},
        shutdown={"deregister_timeout": "0s", "late_accept": "100ms", "drain_unknown": "500ms"},
    )  # fmt: skip
    one.wait_for_log('"state":"registered"')
    service.statuses = [500]
    if ends_by == "signal":
        one.process.send_signal(signal.SIGTERM)
    else:
        os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    assert one.process.wait(timeout=2 * PATIENCE) == (0 if ends_by == "signal" else 1)
    assert one.report()["registries"][0]["state"] == "confirmed", one.log()[-4000:]
    assert len(service.requests) == 3


def test_a_service_slower_than_2_s_is_waited_for_until_its_timeout(world, services):
    service = services()
    service.hang.clear()
    one = start(world, {"url": service.url, "timeout": "1m"})
    wait_until(lambda: service.requests, "it is posted to")
    holds_for(lambda: one.status()["registries"][0]["attempts"] == 1, 3)
    service.hang.set()
    one.wait_for_log('"state":"registered"')
    assert len(service.requests) == 1


def test_tls_with_an_authority_of_ones_own(world, services, tmp_path):
    authority = Authority(tmp_path)
    service = services(tls=authority.server_context("server"))
    one = start(world, {"url": service.url, "ca_file": authority.certificate})
    one.wait_for_log('"state":"registered"')
    assert stop(one) == [{"name": "http", "state": "confirmed"}]


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"ca_file": "/no/such.pem"},
         "cannot use the authorities: /no/such.pem: No such file or directory"),
        ({"ca_file": "/etc/hostname"},
         "cannot use the authorities: /etc/hostname: no certificate in PEM"),
        ({"cert_file": "/no/c.pem", "key_file": "/no/k.pem"},
         "cannot use the client's certificate: /no/c.pem: No such file or directory"),
        ({"cert_file": "/etc/hostname", "key_file": "/etc/hostname"},
         "cannot use the client's certificate: /etc/hostname and /etc/hostname: no certificate"),
        ({}, "the server's certificate is not trusted"),
    ],
)  # fmt: skip
def test_a_file_for_tls_that_cannot_be_used_is_named_with_the_cause(world, services, tmp_path,
                                                                    keys, why):
    authority = Authority(tmp_path)
    service = services(tls=authority.server_context("server"))
    one = start(world, {"url": service.url, **keys})
    one.wait_for_log(f"{service.url}: {why}")


def test_a_stop_while_registering_hangs_leaves_nothing_registered(world, services):
    service = services()
    service.hang.clear()
    one = start(world, {"url": service.url, "timeout": "1m"})
    wait_until(lambda: service.requests, "a registration under way")
    one.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "deregister" in service.requests[-1][2], "a deregistration")
    service.hang.set()
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"] == [{"name": "http", "state": "confirmed"}]


def registered_metric(one):
    [value] = re.findall(r'^lastcall_registry_registered{registry="http"} (.+)$',
                         one.get("/metrics")[1], re.MULTILINE)  # fmt: skip
    return float(value)


def test_a_drain_goes_on_leaving_a_service_that_comes_back_later(world, services):
    service = services()
    one = start(world, {"url": service.url}, shutdown={"deregister_timeout": "1s"})
    one.wait_for_log('"state":"registered"')
    service.statuses = [503] * 1000
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_phase("drained")
    [status] = one.status()["registries"]
    assert status["state"] == "failed" and "503" in status["error"]
    assert registered_metric(one) == 1, "for all that is known"
    service.statuses = []
    one.wait_for_log('"state":"deregistered"')
    assert json.loads(service.requests[-1][2])["action"] == "deregister"
    wait_until(lambda: registered_metric(one) == 0, "the metric")
    assert one.status()["registries"][0]["state"] == "deregistered"
    operator.ask("resume")
    one.wait_for_log('"state":"registered"', count=2)
    assert stop(one) == [{"name": "http", "state": "confirmed"}]
