"""Ports of a pod: where the engine serves, which container takes the requests, and which peer has
to reach what."""

import pytest
from conftest import DEMO, VLLM, container, sets

INGRESS = "config.ingress.max_connections=100"


def port_of(pod, name, port):
    return [p["containerPort"] for p in container(pod, name)["ports"] if p["name"] == port]


def target(objects):
    [port] = objects["Service"]["spec"]["ports"]
    return port["targetPort"]


@pytest.mark.parametrize("mode", ["native", "plain", "prestop"])
def test_with_an_ingress_the_service_sends_requests_to_it(helm, mode):
    settings = sets(f"mode={mode}", "config.ingress.listen=[::]:8181")
    objects = helm.objects("-f", VLLM, *settings)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    # The port has a number, because not every cluster finds the name of a native sidecar's port.
    assert target(objects) == 8181
    assert port_of(pod, "lastcall", "ingress") == [8181]
    assert port_of(pod, "engine", "http") == [8000]


def test_the_notes_explain_how_an_engine_is_not_reached_past_its_ingress(helm):
    def says(*settings):
        return "can reach it past the ingress" in helm.notes("-f", VLLM, *sets(*settings))

    assert says(INGRESS) and not says()
    assert not says(INGRESS, "networkPolicy.enabled=true")
    assert not says("config.ingress.upstream=unix:/sockets/engine.sock")


def test_a_policy_admits_clients_to_the_ingress_and_nobody_to_the_engine(helm):
    words = sets(INGRESS, "networkPolicy.enabled=true")
    [rule] = helm.objects("-f", VLLM, *words)["NetworkPolicy"]["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [8080]


def test_an_ingress_listens_at_its_own_default(helm):
    objects = helm.objects("-f", VLLM, *sets(INGRESS))
    assert target(objects) == 8080
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert port_of(pod, "lastcall", "ingress") == [8080]


@pytest.mark.parametrize("settings", [(), ("config.ingress.enabled=false",)])
def test_without_an_ingress_the_service_sends_requests_to_the_engine(helm, settings):
    objects = helm.objects("-f", VLLM, *sets(*settings))
    assert target(objects) == "http"
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert port_of(pod, "lastcall", "ingress") == []


def test_the_service_can_stay_at_the_engine_while_an_ingress_is_rolled_out(helm):
    assert target(helm.objects("-f", VLLM, *sets(INGRESS, "service.targetPort=8000"))) == 8000


LOOPBACK = ["127.0.0.1", "127.1.2.3", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"]


@pytest.mark.parametrize("host", LOOPBACK)
def test_ports_that_others_have_to_reach_are_not_at_a_loopback_address(helm, host):
    def refusal(*settings):
        return helm.refusal("-f", VLLM, *sets(*settings))

    assert "where the Service" in refusal(f"config.ingress.listen={host}:8080")
    assert "where the kubelet" in refusal(f"config.probes.listen={host}:7090")
    found = refusal("mode=prestop", "prestop.hook=http", f"config.lifecycle.listen={host}:7091")
    assert "config.lifecycle.listen" in found and "where the kubelet" in found


def test_a_loopback_address_that_nobody_else_has_to_reach_is_taken(helm, accepted):
    listen = ("config.lifecycle.enabled=true", "config.lifecycle.listen=127.0.0.1:7091",
              "config.lifecycle.token=s3cret",
              "config.ingress.listen=127.0.0.1:8080", "service.enabled=false")  # fmt: skip
    assert accepted(helm.config("-f", VLLM, *sets(*listen)))


@pytest.mark.parametrize("listen", ["[::]:0", "[::]:65536"])
def test_a_port_that_is_not_known_beforehand_is_refused(helm, listen):
    refusal = helm.refusal("-f", VLLM, *sets(f"config.probes.listen={listen}"))
    assert f"config.probes.listen is {listen}, expected a port" in refusal


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        (("config.ingress.listen=[::]:8000",), ("engine.port", "config.ingress.listen")),
        (("config.ingress.listen=[::]:7090",), ("config.probes.listen", "config.ingress.listen")),
        (("mode=prestop", "prestop.hook=http", "config.ingress.listen=[::]:7091"),
         ("config.lifecycle.listen", "config.ingress.listen")),
        (("config.lifecycle.enabled=true", "engine.port=7091"),
         ("config.lifecycle.listen", "engine.port")),
        (("engine.port=7090",), ("config.probes.listen", "engine.port")),
        (("engine.port=8080", INGRESS), ("config.ingress.listen", "engine.port")),
    ],
)  # fmt: skip
def test_two_listeners_of_a_pod_have_two_ports(helm, settings, keys):
    refusal = helm.refusal("-f", VLLM, *sets(*settings))
    assert "share one network" in refusal
    assert all(key in refusal for key in keys), refusal


def test_the_engines_port_is_where_it_is_checked(helm, accepted):
    config = helm.config("-f", VLLM, *sets("engine.port=9000", "config.engine.kind=sglang"))
    assert config["engine"] == {"kind": "sglang", "url": "http://127.0.0.1:9000"}
    assert accepted(config)


def test_an_ingress_relays_to_the_engines_port(helm, accepted):
    config = helm.config("-f", DEMO, *sets("engine.port=9000", INGRESS))
    assert config["ingress"]["upstream"] == "127.0.0.1:9000"
    assert config["engine"]["url"] == "http://127.0.0.1:9000"
    assert accepted(config)


@pytest.mark.parametrize(
    "settings",
    [
        ("config.engine.url=http://127.0.0.1:9001",),
        ("config.engine.url=http://10.1.2.3:8000", INGRESS),
        ("config.ingress.upstream=10.1.2.3:9001",),
        ("config.ingress.upstream=127.0.0.1:8000", "config.engine.url=http://127.0.0.1:9001"),
        ("config.ingress.upstream=[::1]:8000",),
    ],
)
def test_settings_of_the_engines_address_are_kept(helm, accepted, settings):
    config = helm.config("-f", VLLM, *sets(*settings))
    said = {setting.split("=")[0]: setting.split("=")[1] for setting in settings}
    assert config["engine"].get("url") == said.get("config.engine.url")
    assert config.get("ingress", {}).get("upstream") == said.get("config.ingress.upstream")
    assert accepted(config)


@pytest.mark.parametrize(
    "setting", ["config.ingress.upstream=127.0.0.1:9001", "config.ingress.upstream=localhost:9001"]
)
def test_an_ingress_that_relays_past_the_engine_is_refused(helm, setting):
    refusal = helm.refusal("-f", VLLM, *sets(setting))
    assert "config.ingress.upstream" in refusal and "engine.port is 8000" in refusal


def test_an_ingress_asks_which_of_two_ports_takes_requests(helm):
    refusal = helm.refusal("-f", VLLM, *sets("config.engine.url=http://127.0.0.1:9001", INGRESS))
    assert "expected config.ingress.upstream" in refusal


def test_an_engine_that_may_serve_nothing_is_not_connected_to(helm):
    """Kind custom is checked by a connection to engine.url where one is written."""
    worker = sets("service.enabled=false", "config.health=null", "config.engine.kind=custom")
    assert "url" not in helm.config("-f", DEMO, *worker)["engine"]
    behind_a_socket = sets("config.health=null", "config.ingress.upstream=unix:/run/lastcall/e")
    assert "url" not in helm.config("-f", DEMO, *behind_a_socket)["engine"]


def test_the_notes_show_where_requests_go(helm):
    assert "engine has to serve HTTP at port 8000" in helm.notes("-f", VLLM)
    notes = helm.notes("-f", VLLM, *sets(INGRESS))
    assert "ingress, port 8080" in notes and "The Service sends requests to port 8080" in notes
    notes = helm.notes("-f", VLLM, *sets(INGRESS, "service.targetPort=8000"))
    assert "The Service sends requests to port 8000" in notes


def test_the_notes_name_the_status_page_where_pods_have_one(helm):
    notes = helm.notes("-f", DEMO)  # these values ask for it
    assert "http://localhost:7090/" in notes and "port-forward POD 7090" in notes
    moved = sets("config.probes.listen=0.0.0.0:7999")
    assert "port-forward POD 7999" in helm.notes("-f", DEMO, *moved)
    for words in (("-f", VLLM), ("-f", DEMO, *sets("config.probes=null")),
                  ("-f", DEMO, *sets("config.probes.status_page=never"))):  # fmt: skip
        assert "port-forward" not in helm.notes(*words)


UNKNOWN = "It is unknown what is in flight"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ((), True),
        (("config.engine.metrics.running=r",), True),
        (("config.engine.kind=sglang",), True),
        (("config.engine.kind=sglang", "config.shutdown.drain_unknown=31s"), False),
        (("config.engine.kind=vllm",), False),
        (("config.engine.metrics.running=r", "config.engine.metrics.url=http://127.0.0.1:1/m"),
         False),
        ((INGRESS,), False),
    ],
)  # fmt: skip
def test_the_notes_promise_no_quick_end_where_the_figure_in_flight_is_unknown(helm, settings, says):
    notes = helm.notes("-f", DEMO, *sets("config.shutdown.grace_period=90s", *settings))
    assert (UNKNOWN in notes) is says
    assert ("A pod without requests in flight is gone after about 2000 ms" in notes) is not says


@pytest.mark.parametrize(("grace", "drain", "cut"), [("60s", 15000, 17000), ("12s", 5000, 7000)])
def test_the_notes_show_how_long_such_a_drain_lasts(helm, grace, drain, cut):
    settings = (f"config.shutdown.grace_period={grace}", "config.shutdown.deregister_timeout=1s")
    notes = helm.notes("-f", DEMO, *sets(*settings))
    assert f"A drain then lasts {drain} ms" in notes and f"longer than {cut} ms" in notes
