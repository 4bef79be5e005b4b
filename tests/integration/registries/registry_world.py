"""A world that is registered in etcd."""

from serve_world import merged

ADVERTISE = "http://10.0.0.7:8000"


def etcd_world(world, server, etcd=None, urls=None, **config):
    """Its registry is at `server`, or at these URLs; `etcd` are further keys of it."""
    settings = {"endpoints": urls or server.urls, **(etcd or {})}
    return world(
        **merged(
            {
                "identity": {"advertise": ADVERTISE},
                "shutdown": {"grace_period": "20s", "deregister_timeout": "5s"},
                "discovery": [{"etcd": settings}],
            },
            config,
        )
    )
