"""Workers out of EndpointSlices: ready and not terminating, watched, and kept while it breaks."""

import os

from api_server_sim import NAMESPACE
from router_world import asks
from serve_peer import wait_until
from test_router_etcd import is_failing, knows


def source(cluster, **more):
    return {
        "kubernetes": {"services": ["qwen"], "namespace": NAMESPACE, "model": "m",
                       **cluster.registry, **more}
    }  # fmt: skip


def slice_of(name, engine, ready=True, service="qwen", port_name="http", **conditions):
    """One endpoint; `ready` None leaves the condition out."""
    host, _, port = engine.address.rpartition(":")
    conditions |= {} if ready is None else {"ready": ready}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [{"name": "metrics", "port": 1}, {"name": port_name, "port": int(port)}],
        "endpoints": [{"addresses": [host], "conditions": conditions}],
    }


def lists(cluster):
    return len(cluster.api.requests) - len(cluster.watched())


def test_workers_follow_the_slices(router, engines, cluster):
    cluster.api.put_slice(slice_of("a", engines[0]))
    cluster.api.put_slice(slice_of("other", engines[1], service="other"))
    one = router(source(cluster, port="http"))
    knows(one, 1)
    asks(one, engines[0])
    cluster.api.put_slice(slice_of("b", engines[1], ready=None))
    knows(one, 2)
    # It ends, and still serves what it has: nothing new.
    cluster.api.put_slice(slice_of("a", engines[0], ready=False, serving=True, terminating=True))
    knows(one, 1)
    for _ in range(5):
        asks(one, engines[1])
    assert not engines[0].has_arrived()
    cluster.api.put_slice(slice_of("a", engines[0], ready=True, terminating=True))
    cluster.api.delete_slice("b")
    knows(one, 0)
    assert any("allowWatchBookmarks=true" in path for path in cluster.watched())


def test_a_port_may_be_a_number(router, engines, cluster):
    cluster.api.put_slice(slice_of("a", engines[0], port_name="another"))
    one = router(source(cluster, port=engines[0].address.rpartition(":")[2]))
    knows(one, 1)
    asks(one, engines[0])


def test_a_watch_goes_on_from_a_bookmark(router, engines, cluster):
    one = router(source(cluster, port="http"))
    wait_until(cluster.watched, "it is watched")
    cluster.api.bookmark()
    cluster.api.end_watches()
    wait_until(lambda: len(cluster.watched()) > 1, "it is watched again")
    cluster.api.put_slice(slice_of("a", engines[0]))
    knows(one, 1)
    assert "resourceVersion=110" in cluster.watched()[1]
    assert lists(cluster) == 1


def test_a_version_that_is_too_old_is_listed_again(router, engines, cluster):
    one = router(source(cluster, port="http"))
    wait_until(cluster.watched, "it is watched")
    cluster.api.forgotten = 10**9
    cluster.api.end_watches()
    wait_until(lambda: lists(cluster) > 1, "it is listed again")
    cluster.api.forgotten = 0
    cluster.api.put_slice(slice_of("a", engines[0]))
    knows(one, 1)
    asks(one, engines[0])
    assert "last known workers" not in one.log()  # it is not a failure


def test_workers_stay_while_the_api_server_refuses(router, engines, cluster):
    cluster.api.put_slice(slice_of("a", engines[0]))
    one = router(source(cluster, port="http"))
    knows(one, 1)
    cluster.api.token = "another"
    cluster.api.end_watches()
    is_failing(one, 1)
    assert "Unauthorized" in one.log()
    asks(one, engines[0])
    cluster.token_file.write_text("another\n")
    is_failing(one, 0)
    cluster.api.put_slice(slice_of("b", engines[1]))
    knows(one, 2)


def test_sources_are_added_up(router, engines, cluster, tmp_path):
    (tmp_path / "1a.json").write_text(
        '{"advertise": "http://%s", "model": "m"}' % engines[0].address
    )
    cluster.api.put_slice(slice_of("a", engines[0]))
    cluster.api.put_slice(slice_of("b", engines[1]))
    one = router(source(cluster, port="http"), {"file": {"directory": str(tmp_path)}})
    knows(one, 2)
    cluster.api.delete_slice("a")
    cluster.api.delete_slice("b")
    knows(one, 1)  # which the file still names
    os.unlink(tmp_path / "1a.json")
    knows(one, 0)
