"""EndpointSlices as a registry, over TLS, against a stand-in for the API server."""

import os
import signal
import time

import pytest
from api_server_sim import NAMESPACE, POD, UID, slice_of
from certificates import Authority
from in_time import unless_late
from serve_peer import PATIENCE, wait_until

GATE = "lastcall.dev/serving"


def late(stopped):
    """From (world, cluster)."""
    return stopped[0].registries_were_late()


def test_leaving_is_confirmed_when_no_slice_lists_this_pod_as_ready_any_more(world, clusters):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=True))
    cluster.api.put_slice(slice_of("b", ready=None))  # which means ready
    cluster.api.put_slice(slice_of("other", ready=True, uid="another", pod="qwen-1"))
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    one.process.send_signal(signal.SIGTERM)
    wait_until(cluster.watched, "a watch")
    cluster.api.put_slice(slice_of("a", ready=False))
    assert one.status()["phase"] == "deregistering"
    cluster.api.put_slice(slice_of("b", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"] == [{"name": "kubernetes", "state": "confirmed"}]
    assert one.report()["phases"]["deregistering"]["outcome"] == "completed"


def test_only_slices_of_the_named_services_count(world, clusters):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=False))
    cluster.api.put_slice(slice_of("b", ready=True, service="metrics"))
    one = cluster.start(world, {"services": ["qwen", "qwen-2"]})
    one.wait_for_log('"state":"registered"')
    assert one.stop()["registries"][0]["state"] == "confirmed"


def test_a_cluster_with_v1beta1_only(world, clusters):
    cluster = clusters(versions=("v1beta1",))
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    one.process.send_signal(signal.SIGTERM)
    assert "/v1beta1/" in wait_until(cluster.watched, "a watch")[0]
    cluster.api.put_slice(slice_of("a", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"][0]["state"] == "confirmed"


def test_a_watch_that_the_server_ends_is_begun_again(world, clusters):
    cluster = clusters(watch_limit=1)
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    one.process.send_signal(signal.SIGTERM)
    wait_until(cluster.watched, "a watch")
    cluster.api.put_slice(slice_of("a", ready=True))
    wait_until(lambda: len(cluster.watched()) > 1, "another watch")
    cluster.api.put_slice(slice_of("a", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"][0]["state"] == "confirmed"


def test_a_pod_that_stays_ready_costs_the_budget_and_is_named(world, clusters):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world, deregister_timeout="1s")
    one.wait_for_log('"state":"registered"')
    report = one.stop()
    [record] = report["registries"]
    assert record["state"] == "failed"
    assert report["phases"]["deregistering"]["ms"] < 4000


def test_the_readiness_gate_and_the_label_follow_the_registration(world, clusters):
    cluster = clusters()
    one = cluster.start(world, {"readiness_gate": GATE, "serving_label": "lastcall.dev/live"})
    one.wait_for_log('"state":"registered"')
    assert cluster.api.condition(GATE)["status"] == "True"
    assert cluster.api.pod["metadata"]["labels"] == {"lastcall.dev/live": "true"}
    operator = one.operator()
    operator.ask("drain")
    one.wait_for_phase("drained")
    assert cluster.api.condition(GATE)["status"] == "False"
    assert cluster.api.pod["metadata"]["labels"] == {}
    operator.ask("resume")
    one.wait_for_log('"state":"registered"', count=2)
    assert cluster.api.condition(GATE)["status"] == "True"
    assert one.stop()["registries"][0]["state"] == "confirmed"
    assert cluster.api.condition(GATE)["status"] == "False"


def test_the_gate_waits_for_every_other_registry_where_configured(world, clusters, tmp_path):
    cluster = clusters()
    folder = tmp_path / "instances"
    folder.write_text("in the way")
    one = cluster.start(world, {"readiness_gate": GATE, "after_others": True},
                        others=[{"file": {"directory": str(folder)}}])  # fmt: skip
    one.wait_for_log('"registry":"file","state":"registering"', count=2)
    assert cluster.api.condition(GATE) is None
    folder.unlink()
    folder.mkdir()
    one.wait_for_log('"registry":"kubernetes","state":"registered"')
    assert cluster.api.condition(GATE)["status"] == "True"
    assert list(folder.iterdir())
    assert {each["state"] for each in one.stop()["registries"]} == {"confirmed"}
    assert cluster.api.condition(GATE)["status"] == "False"


COST = "controller.kubernetes.io/pod-deletion-cost"


def cost(cluster):
    return cluster.api.pod["metadata"].get("annotations", {}).get(COST)


def test_the_deletion_cost_follows_the_work_in_flight(world, clusters):
    cluster = clusters()
    one = cluster.start(world, {"deletion_cost": "1s"})
    one.wait_for_log('"state":"registered"')
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    for name in ("r1", "r2"):
        peer.ask("request.begin", id=name, endpoint="generate")
    wait_until(lambda: cost(cluster) == "2", "the cost of two requests")
    peer.ask("request.end", id="r1", outcome="completed")
    wait_until(lambda: cost(cluster) == "1", "the cost of one")
    written = [path for method, path in cluster.api.requests if method == "PATCH"]
    assert len(written) <= 4, written
    peer.ask("request.end", id="r2", outcome="completed")
    wait_until(lambda: cost(cluster) == "0", "no cost")
    peer.close()


def test_a_cost_that_nobody_knows_is_not_written_nor_without_being_asked_for(world, clusters):
    for registry in ({"deletion_cost": "1s"}, {}):
        cluster = clusters()
        one = cluster.start(world, registry)
        one.wait_for_log('"state":"registered"')
        assert one.stop()["exit_code"] == 0
        assert cost(cluster) is None


def test_a_cost_that_cannot_be_written_is_reported_once(world, clusters):
    cluster = clusters()
    cluster.api.refusal = 'pods "qwen-0" is forbidden'
    one = cluster.start(world, {"deletion_cost": "1s"})
    one.wait_for_log('"state":"registered"')
    peer = one.peer()
    peer.ask("endpoint.register", endpoint="generate")
    wait_until(lambda: sum(m == "PATCH" for m, _ in cluster.api.requests) >= 3, "three tries")
    assert one.log().count("cannot write the pod's deletion cost") == 1
    assert "is forbidden" in one.log()
    cluster.api.refusal = None
    wait_until(lambda: cost(cluster) == "0", "the cost of no request")
    peer.close()


def test_another_pod_of_the_same_name_is_not_patched(world, clusters):
    cluster = clusters()
    one = cluster.start(world, {"readiness_gate": GATE}, uid="another-uid")
    one.wait_for_log("the uid in the patch does not match")
    assert cluster.api.condition(GATE) is None


@pytest.mark.parametrize("successor", [None, "another-uid"])
def test_a_pod_that_was_removed_by_force_has_left(world, clusters, successor):
    """`kubectl delete --force`, or the removal of a lost node's pods: nothing is left to patch."""

    def stopped():
        cluster = clusters()
        cluster.api.put_slice(slice_of("a", ready=True))
        one = cluster.start(world, {"readiness_gate": GATE, "serving_label": "lastcall.dev/live"})
        one.wait_for_log('"state":"registered"')
        cluster.api.remove_pod(successor)
        one.stop()
        return one, cluster

    one, cluster = unless_late(stopped, late)
    assert one.report()["registries"] == [{"name": "kubernetes", "state": "confirmed"}]
    assert cluster.api.condition(GATE) is None if successor else cluster.api.pod is None


FORBIDDEN = 'pods "qwen-0" is forbidden: cannot patch resource "pods/status"'


def test_leaving_without_the_right_to_patch_is_confirmed_by_the_slices_and_noted(world, clusters):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world, {"readiness_gate": GATE})
    one.wait_for_log('"state":"registered"')
    cluster.api.refusal, cluster.api.refused_at = FORBIDDEN, "/status"
    one.process.send_signal(signal.SIGTERM)
    wait_until(cluster.watched, "a watch")
    cluster.api.put_slice(slice_of("a", ready=False))  # by the pod's own deletion
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"][0]["state"] == "confirmed"
    [record] = [each for each in one.records() if "lacks the right" in str(each.get("note"))]
    assert "pods/status" in record["note"] and "rbac.create" in record["note"]


def test_a_pod_that_stays_ready_because_of_a_missing_right_names_both(world, clusters):
    def stopped():
        cluster = clusters()
        cluster.api.put_slice(slice_of("a", ready=True))
        one = cluster.start(world, {"readiness_gate": GATE}, deregister_timeout="2s")
        one.wait_for_log('"state":"registered"')
        cluster.api.refusal = FORBIDDEN
        return one, one.stop()["registries"]

    _, [record] = unless_late(stopped, lambda made: made[1][0]["detail"] == "not confirmed in time")
    assert record["state"] == "failed"
    assert "still lists this pod as ready" in record["detail"]
    assert "lacks the right" in record["detail"]


def test_a_removed_pod_has_left_though_the_gate_is_forbidden(world, clusters):
    def stopped():
        cluster = clusters()
        cluster.api.put_slice(slice_of("a", ready=False))
        one = cluster.start(world, {"readiness_gate": GATE, "serving_label": "lastcall.dev/live"})
        one.wait_for_log('"state":"registered"')
        cluster.api.refusal, cluster.api.refused_at = FORBIDDEN, "/status"
        cluster.api.remove_pod(None)
        one.stop()
        return one, cluster

    one, _ = unless_late(stopped, late)
    assert one.report()["registries"] == [{"name": "kubernetes", "state": "confirmed"}]


def test_a_rotated_token_is_read_again(world, clusters):
    cluster = clusters()
    one = cluster.start(world, {"readiness_gate": GATE})
    one.wait_for_log('"state":"registered"')
    cluster.api.token = "token-2"
    cluster.token_file.write_text("token-2\n")
    assert one.stop()["registries"][0]["state"] == "confirmed"
    assert "token-" not in one.log()


def test_a_pod_without_a_token_is_warned_of_at_its_start(world, clusters):
    """Without a gate or a label, it would be needed first when the instance leaves."""
    cluster = clusters()
    cluster.token_file.unlink()
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    [line] = [line for line in one.log().splitlines() if "cannot read a token" in line]
    assert f"registry 'kubernetes': cannot read a token from {cluster.token_file}: No such" in line
    assert "automountServiceAccountToken: false" in line and '"level":"WARNING"' in line


def test_the_outcome_of_a_stop_becomes_an_event_of_the_pod(world, clusters):
    def stopped():
        cluster = clusters()
        one = cluster.start(world, {"event": True})
        one.peer().ask("endpoint.register", endpoint="generate")  # so that in-flight is known
        one.wait_for_log('"state":"registered"')
        one.stop()
        return one, cluster

    one, cluster = unless_late(stopped, late)
    assert one.report()["cleanup"]["registries"]["outcome"] == "completed"
    [event] = cluster.api.events
    assert event["involvedObject"]["name"] == POD and event["involvedObject"]["uid"] == UID
    assert event["type"] == "Normal" and event["reason"] == "Drained"
    assert "deregistering completed" in event["message"] and "requests:" in event["message"]
    assert "exit code" not in event["message"], "the engine might still have had to be killed"


def test_an_operators_order_becomes_an_event_of_the_pod(world, clusters):
    cluster = clusters()
    one = cluster.start(world, {"event": True})
    one.wait_for_log('"state":"registered"')
    one.operator().ask("reload")
    wait_until(lambda: cluster.api.events, "the event is posted")
    [event] = cluster.api.events
    assert event["involvedObject"]["name"] == POD
    assert event["type"] == "Normal" and event["reason"] == "OperatorOrder"
    who = f"operator with uid {os.geteuid()}, pid {os.getpid()}: "
    assert event["message"].startswith(who + "reload: done, ")


def test_the_event_of_a_fatal_stop_has_its_exit_code(world, clusters):
    def stopped():
        cluster = clusters()
        one = cluster.start(world, {"event": True})
        one.wait_for_log('"state":"registered"')
        os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
        assert one.process.wait(timeout=PATIENCE) == 1
        return one, cluster

    _, cluster = unless_late(stopped, late)
    [event] = cluster.api.events
    assert event["type"] == "Warning" and event["message"].endswith("; exit code 1")


def test_an_engine_that_serves_without_a_shim_is_an_event_of_its_pod(world, clusters):
    cluster = clusters()
    cluster.start(world, {"event": True}, with_engine=False)
    wait_until(lambda: cluster.api.events, "an Event")
    [event] = cluster.api.events
    assert event["involvedObject"]["name"] == POD and event["involvedObject"]["uid"] == UID
    assert (event["type"], event["reason"]) == ("Warning", "ShimMissing")
    assert "nothing holds back the engine's stop signal" in event["message"]


@pytest.mark.parametrize("deleted", [True, False])
def test_a_pod_that_is_being_deleted_stays_ready_for_late_clients(world, clusters, deleted):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    if deleted:
        cluster.api.delete_pod(grace=60)
    one.process.send_signal(signal.SIGTERM)
    wait_until(cluster.watched, "a watch")
    assert one.status()["phase"] == "deregistering"
    wait_until(lambda: one.get("/readyz")[0] == (200 if deleted else 503), "readiness")
    cluster.api.put_slice(slice_of("a", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0


def test_a_grace_that_is_shorter_than_the_configured_one_bounds_the_stop(world, clusters):
    cluster = clusters()
    cluster.api.put_slice(slice_of("a", ready=True))
    one = cluster.start(world)
    one.wait_for_log('"state":"registered"')
    cluster.api.delete_pod(grace=10)
    began = time.monotonic() * 1000
    one.process.send_signal(signal.SIGTERM)
    one.wait_for_log("the pod is being deleted")
    status = one.status()
    # 2 s are the kubelet's; with the 20 s that are configured it would be twelve later.
    assert int(began) + 8_000 <= status["deadline_at_ms"] < began + 20_000
    cluster.api.put_slice(slice_of("a", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0


def test_an_api_server_that_is_not_trusted_receives_nothing(world, clusters, tmp_path):
    cluster = clusters()
    (tmp_path / "other").mkdir()
    cluster.registry["ca_file"] = Authority(tmp_path / "other").certificate
    one = cluster.start(world, {"readiness_gate": GATE})
    one.wait_for_log("the server's certificate is not trusted")
    assert cluster.api.requests == []


def test_without_the_pods_name_it_does_not_start(world, clusters):
    one = world(discovery=[{"kubernetes": clusters().registry}])
    assert one.serve(POD_NAMESPACE=NAMESPACE, POD_NAME="").wait(timeout=PATIENCE) != 0
    assert "set POD_NAME and POD_NAMESPACE" in one.log()
