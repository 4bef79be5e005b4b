"""The chart's router in front of a rolling update of its workers."""

import re

from kube_load import loaded, roll_out, rolled_out
from kube_release import SIM

ENGINE = [word for word in SIM if word != "--sdk"]
CONFIG = {
    "identity": {"model": "sim"},
    "ingress": {"listen": "[::]:8080", "upstream": "127.0.0.1:8000"},
    "shutdown": {"grace_period": "12s", "late_accept": "3s", "deregister_timeout": "3s",
                 "hand_off": "early"},
}  # fmt: skip
TOKENS = 1400  # seventy seconds: the second drain of a slow node begins after thirty


def test_streams_longer_than_a_pods_grace_outlive_a_rolling_update(make_release):
    release = make_release(
        engine={"command": [*ENGINE, "--rate", "20"]}, replicaCount=2, config=CONFIG,
        router={"enabled": True},
    ).install()
    old, router = release.names(), release.router()
    url = f"{router}/v1/chat/completions"
    streams = [
        release.client.stream(url, model="sim", max_tokens=TOKENS,
                              messages=[{"role": "user", "content": f"user {number}"}])
        for number in range(8)
    ]  # fmt: skip
    sums = loaded(
        release, lambda: roll_out(release), lambda: rolled_out(release, old),
        targets=lambda: [router], model="sim", messages=[{"role": "user", "content": "x"}],
    )  # fmt: skip
    assert sums["problems"] == [], sums
    assert sums["outcomes"]["completed"] > 20
    whole = "".join(f"t{number} " for number in range(TOKENS)).rstrip()
    for stream in streams:
        end = stream.next(patience=120)
        assert end["outcome"] == "completed", end
        assert end["text"].rstrip() == whole
    assert moved(release) >= len(streams)


def moved(release):
    """How many answers have gone on elsewhere, over the router's replicas."""
    pods = release.kubectl("get", "pods", "-l", "app.kubernetes.io/name=lastcall-router", "-o",
                           "jsonpath={.items[*].status.podIP}").split()  # fmt: skip
    total = 0.0
    for address in pods:
        status, text = release.client.get(f"http://{address}:7091/metrics")
        assert status == 200
        found = re.findall(r'^lastcall_router_moves_total{.*"continued".*} (\S+)$', text, re.M)
        total += sum(map(float, found))
    return total
