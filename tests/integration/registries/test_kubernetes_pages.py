"""Namespaces whose EndpointSlices are too many for one answer."""

import json
import signal

import pytest
from api_server_sim import NAMESPACE, slice_of
from serve_peer import PATIENCE, wait_until

# Megabytes are read here within a stop's own limits, which a sanitizer beside others does not keep.
pytestmark = pytest.mark.plain_build


def large_slice(name):
    """40 KB: a hundred of them are more than is taken in one answer."""
    one = slice_of(name, ready=False)
    others = {"kind": "Pod", "namespace": NAMESPACE, "name": "another-pod", "uid": "x" * 200}
    one["endpoints"] += [{"addresses": ["10.0.0.9"], "targetRef": others}] * 110
    return one


def lists(cluster):
    return [p for _, p in cluster.api.requests if "endpointslices" in p and "watch=1" not in p]


@pytest.mark.parametrize("services", [None, ["qwen"]])
def test_a_namespace_with_very_many_endpoints_is_listed_page_by_page(world, clusters, services):
    cluster = clusters()
    for number in range(150):
        cluster.api.put_slice(large_slice(f"a{number}"))
    assert len(json.dumps(cluster.api.listed(""))) > 4 << 20
    cluster.api.put_slice(slice_of("last", ready=True))
    one = cluster.start(world, {"services": services} if services else None)
    one.wait_for_log('"state":"registered"')
    one.process.send_signal(signal.SIGTERM)
    wait_until(cluster.watched, "a watch")
    assert len(lists(cluster)) == 4
    cluster.api.put_slice(slice_of("last", ready=False))
    assert one.process.wait(timeout=2 * PATIENCE) == 0
    assert one.report()["registries"][0]["state"] == "confirmed"


def test_slices_that_are_too_long_for_a_page_are_asked_for_in_smaller_ones(world, clusters):
    cluster = clusters()
    for number in range(20):
        one = large_slice(f"a{number}")
        one["endpoints"] *= 8
        cluster.api.put_slice(one)
    left = cluster.start(world)
    left.wait_for_log('"state":"registered"')
    assert left.stop()["registries"][0]["state"] == "confirmed"
    assert "limit=6" in lists(cluster)[-1]


def test_an_answer_that_is_too_long_is_reported_and_not_asked_for_in_a_hurry(world, clusters):
    cluster = clusters(pages=False)
    for number in range(150):
        cluster.api.put_slice(large_slice(f"a{number}"))
    one = cluster.start(world, deregister_timeout="3s")
    one.wait_for_log('"state":"registered"')
    [record] = one.stop()["registries"]
    assert record["state"] == "failed" and "an answer of more than 4 MiB" in record["detail"]
    assert len(lists(cluster)) <= 2 * 3
