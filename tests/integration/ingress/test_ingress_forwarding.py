"""What the engine gets about the client, from trusted proxies and from any other peer."""

import socket

import pytest
from ports import free_port
from raw_engine import Wire, get, ok

SAID = (
    "X-Forwarded-For: 198.51.100.7", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: https",
    "X-Forwarded-User: u", "X-Real-IP: 198.51.100.7", "Forwarded: for=198.51.100.7",
)  # fmt: skip


def head_of(one, engine, *lines, source="127.0.0.1", host="127.0.0.1"):
    """The lines of the request that the engine gets, from a client with that address."""
    user = Wire(socket.create_connection((host, one.ingress_port), source_address=(source, 0)))
    user.send(get("/v1/models", *lines, "Connection: close"))
    wire, head = engine.request()
    wire.send(ok())
    user.rest()
    wire.close()
    return head.decode().split("\r\n")


def proxy_fields(lines):
    names = ("forwarded:", "x-forwarded", "x-real-ip")
    return [line for line in lines if line.lower().startswith(names)]


def test_a_trusted_proxy_is_believed_and_added(proxy, engine):
    one = proxy(ingress={"trusted_proxies": ["127.0.0.2"]})
    assert proxy_fields(head_of(one, engine, *SAID, source="127.0.0.2")) == [
        "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: https", "X-Forwarded-User: u",
        "X-Real-IP: 198.51.100.7", "Forwarded: for=198.51.100.7",
        "X-Forwarded-For: 198.51.100.7, 127.0.0.2", 'Forwarded: for=127.0.0.2;host="h";proto=http',
    ]  # fmt: skip


@pytest.mark.parametrize("trusted", [["127.0.0.2", "::1"], []], ids=["others", "nobody"])
def test_fields_of_untrusted_peers_are_replaced(proxy, engine, trusted):
    one = proxy(ingress={"trusted_proxies": trusted})
    expected = [
        "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: h", "X-Forwarded-Proto: http",
        'Forwarded: for=127.0.0.1;host="h";proto=http',
    ]  # fmt: skip
    assert proxy_fields(head_of(one, engine, *SAID)) == expected
    assert proxy_fields(head_of(one, engine)) == expected


def test_private_addresses_are_trusted_where_nothing_is_configured(proxy, engine):
    one = proxy()
    assert "X-Forwarded-For: 198.51.100.7, 127.0.0.1" in head_of(one, engine, *SAID)


def test_networks_of_ipv6_hold_for_clients_of_ipv6(proxy, engine):
    one = proxy(ingress={"listen": f"[::]:{free_port()}", "trusted_proxies": ["::/0"]})
    lines = head_of(one, engine, *SAID, source="::1", host="::1")
    assert "X-Forwarded-For: 198.51.100.7, ::1" in lines
    assert "X-Forwarded-For: 127.0.0.1" in head_of(one, engine, *SAID)


def test_headers_with_underscores_are_dropped_unless_they_are_wanted(proxy, engine):
    lines = ("X_User: root", "X-Kept: a_b")
    one = proxy()
    head = head_of(one, engine, *lines)
    assert "X_User: root" not in head
    assert "X-Kept: a_b" in head
    other = proxy(ingress={"underscores_in_headers": True})
    head = head_of(other, engine, *lines)
    assert "X_User: root" in head and "X-Kept: a_b" in head
