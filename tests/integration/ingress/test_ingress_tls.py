"""Clients that speak TLS, and the certificate that follows its files."""

import contextlib
import os
import socket
import ssl
import struct
import subprocess
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "../registries"))

from certificates import Authority  # noqa: E402
from raw_engine import SSE_HEAD, Wire, chunk, get, metric, ok, post  # noqa: E402
from serve_peer import PATIENCE, wait_until  # noqa: E402

UNARY = b'{"model":"m"}'
THREADS = (1, 3)


def put(pair, directory):
    """Replaces the pair as a careless user does: file by file."""
    for source, name in zip(pair, ("tls.crt", "tls.key"), strict=True):
        with open(source, "rb") as file:
            text = file.read()
        with open(os.path.join(directory, name), "wb") as file:
            file.write(text)


def switch(pair, directory, version):
    """Replaces the pair as the kubelet does: a new directory, and one link that is switched."""
    files = os.path.join(directory, f"..{version}")
    os.mkdir(files)
    put(pair, files)
    link = os.path.join(directory, "..data_tmp")
    os.symlink(f"..{version}", link)
    os.rename(link, os.path.join(directory, "..data"))
    for name in ("tls.crt", "tls.key"):
        if not os.path.lexists(os.path.join(directory, name)):
            os.symlink(os.path.join("..data", name), os.path.join(directory, name))


class Secure:
    def __init__(self, directory, proxy):
        self.authority = Authority(directory)
        self.directory = os.path.join(directory, "volume")
        os.mkdir(self.directory)
        switch(self.authority.sign("first"), self.directory, 1)
        self._proxy = proxy

    def start(self, **config):
        paths = {kind: os.path.join(self.directory, f"tls.{end}")
                 for kind, end in (("cert_file", "crt"), ("key_file", "key"))}  # fmt: skip
        ingress = {**config.pop("ingress", {}), "tls": paths}
        self.one = self._proxy(ingress=ingress, **config)
        return self.one

    def plain(self):
        return Wire(socket.create_connection(("127.0.0.1", self.one.ingress_port), PATIENCE))

    def client(self, context=None):
        context = context or self.authority.client_context()
        return Wire(context.wrap_socket(self.plain().socket, server_hostname="127.0.0.1"))

    def subject(self):
        """The name that greets a new client."""
        wire = self.client()
        [[[_, name]]] = wire.socket.getpeercert()["subject"]
        wire.close()
        return name


@pytest.fixture
def secure(tmp_path, proxy):
    return Secure(str(tmp_path), proxy)


def test_requests_and_streams_pass_and_the_engine_is_notified_of_https(secure, engine):
    secure.start()
    user = secure.client()
    assert user.socket.version() in ("TLSv1.2", "TLSv1.3")
    user.send(post(body=UNARY))
    wire, head = engine.request()
    assert b"\r\nX-Forwarded-Proto: https\r\n" in head and b";proto=https\r\n" in head
    wire.exactly(len(UNARY))
    wire.send(ok())
    user.until(b"hello")
    user.send(post())  # on the same connection
    wire.until(b"}")
    wire.send(SSE_HEAD)
    for i in range(50):
        wire.send(chunk(b"data: %d\n\n" % i))
        user.until(b"data: %d\n\n" % i)
    wire.send(b"0\r\n\r\n")
    user.until(b"0\r\n\r\n")


def test_bodies_of_many_records_pass_both_ways(secure, engine):
    secure.start()
    user = secure.client()
    body = os.urandom(3_000_000)
    user.send(post("/v1/embeddings", b"", f"X-Size: {len(body)}").replace(
        b"Content-Length: 0", b"Content-Length: %d" % len(body)))  # fmt: skip
    user.socket.settimeout(None)
    wire = None
    sent = 0
    while sent < len(body):
        user.send(body[sent : sent + 100_000])
        sent += 100_000
        if wire is None:
            wire, _ = engine.request()
        assert wire.exactly(min(100_000, len(body) - sent + 100_000)) == body[sent - 100_000 : sent]
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
    user.until(b"\r\n\r\n")
    for at in range(0, len(body), 100_000):
        wire.send(body[at : at + 100_000])
        assert user.exactly(min(100_000, len(body) - at)) == body[at : at + 100_000]


def test_a_client_that_reads_nothing_holds_its_engine_back_and_gets_all_of_it_later(secure, engine):
    secure.start(ingress={"timeouts": {"client": "120s"}})
    user = secure.client()
    user.send(get("/v1/models"))
    wire, _ = engine.request()
    size = 64 * 1024 * 1024
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    wire.socket.setblocking(False)
    sent, piece = 0, b"x" * 65536

    def is_held_back():
        nonlocal sent
        try:
            while True:
                sent += wire.socket.send(piece[: size - sent])
        except BlockingIOError:
            return sent < size
    wait_until(is_held_back, "back-pressure")
    user.until(b"\r\n\r\n")
    got = 0
    while got < size:
        with contextlib.suppress(BlockingIOError):  # all on the way is full until the client reads
            sent += wire.socket.send(piece[: size - sent])
        want = min(size - got, (sent - got) // 2 + 1)
        got += len(user.exactly(want))


@pytest.mark.parametrize("way", ["close", "reset", "shutdown", "close_notify"])
def test_a_client_that_leaves_is_seen_while_the_engine_is_silent(secure, engine, way):
    one = secure.start()
    user = secure.client()
    user.send(post(body=UNARY))
    wire, _ = engine.request()
    wire.exactly(len(UNARY))
    if way == "close_notify":
        user.socket.settimeout(0.01)
        with contextlib.suppress(OSError):
            user.socket.unwrap()  # it is sent, whether or not the answer to it comes in time
    elif way == "shutdown":
        user.socket.shutdown(socket.SHUT_WR)
    else:
        if way == "reset":
            linger = struct.pack("ii", 1, 0)
            user.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        user.close()
    assert wire.ended()
    wait_until(lambda: metric(one, "lastcall_cancels_total", reason="client_disconnect") == 1,
               "counted once")  # fmt: skip


def test_a_cut_stream_ends_with_its_error_event_and_no_end(secure, engine):
    # The engine has its TERM after 3.5 s, and 2.5 s to end.
    one = secure.start(shutdown={"grace_period": "7s", "cleanup_reserve": "3500ms"})
    user = secure.client()
    user.send(post())
    wire, _ = engine.request()
    wire.until(b"}")
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n\r\n")
    one.process.terminate()
    last = user.rest()
    assert b'"type":"migrated"' in last and not last.endswith(b"0\r\n\r\n")
    assert one.process.wait(timeout=PATIENCE) == 0


def test_plain_http_gets_a_400_and_a_close(secure):
    one = secure.start()
    user = secure.plain()
    user.send(get())
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"expected TLS" in answer
    garbage = secure.plain()
    garbage.send(b"\x00\x01\x02 nonsense\r\n\r\n")
    garbage.rest()  # it ends
    assert secure.subject() == "first"
    assert one.process.poll() is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_and_other_protocols_are_refused(secure):
    secure.start()
    old = secure.authority.client_context()
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.TLSv1_1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        secure.client(old)
    both = secure.authority.client_context()
    both.set_alpn_protocols(["h2", "http/1.1"])
    assert secure.client(both).socket.selected_alpn_protocol() == "http/1.1"
    oldest = secure.authority.client_context()
    oldest.set_alpn_protocols(["http/1.0"])  # as curl with HTTP/1.0
    assert secure.client(oldest).socket.selected_alpn_protocol() == "http/1.0"
    other = secure.authority.client_context()
    other.set_alpn_protocols(["h2"])
    with pytest.raises((ssl.SSLError, OSError)):
        secure.client(other)


def test_a_session_that_is_resumed_carries_no_early_data(secure, tmp_path):
    """What comes with the greeting could be sent again by anybody who has recorded it."""
    one = secure.start()
    asked = get("/v1/../models")  # a 400 and a close, without the engine
    (tmp_path / "request").write_bytes(asked)
    words = ["openssl", "s_client", "-connect", f"127.0.0.1:{one.ingress_port}", "-tls1_3",
             "-CAfile", secure.authority.certificate, "-ign_eof"]  # fmt: skip
    for more in (["-sess_out", "s"], ["-sess_in", "s", "-early_data", "request"]):
        done = subprocess.run([*words, *more], input=asked, capture_output=True, cwd=tmp_path,
                              timeout=PATIENCE, check=False)  # fmt: skip
        assert b"Max Early Data: 0" in done.stdout
    assert b"Reused, TLSv1.3" in done.stdout and b"Early data was not sent" in done.stdout


def test_a_switched_volume_is_read_anew_and_old_connections_stay(secure, engine):
    one = secure.start()
    before = secure.client()
    switch(secure.authority.sign("second"), secure.directory, 2)
    wait_until(lambda: secure.subject() == "second", "the new certificate")
    assert "the ingress has read its certificate again" in one.log()
    before.send(get())
    wire, _ = engine.request()
    wire.send(ok())
    before.until(b"hello")


def test_a_pair_that_cannot_be_used_is_reported_once_and_the_old_one_stays(secure):
    one = secure.start()
    certificate, _ = secure.authority.sign("second")
    _, key = secure.authority.sign("third")
    switch((certificate, key), secure.directory, 2)
    expected = "cannot use the new certificate: the ingress keeps its present one"

    def is_reported():
        assert secure.subject() == "first"
        return expected in one.log()

    wait_until(is_reported, "the error")
    switch(secure.authority.sign("fourth"), secure.directory, 3)
    wait_until(lambda: secure.subject() == "fourth", "the next good one")
    assert one.log().count(expected) == 1


def test_a_pair_that_cannot_be_used_at_the_start_ends_it(secure, world, engine):
    os.remove(os.path.join(secure.directory, "tls.key"))
    paths = {"cert_file": f"{secure.directory}/tls.crt", "key_file": f"{secure.directory}/tls.key"}
    one = world(ingress={"listen": "127.0.0.1:0", "upstream": engine.address, "tls": paths})
    process = one.serve()
    assert process.wait(timeout=PATIENCE) == 1
    assert "ingress.tls: cannot use the key in " + paths["key_file"] in one.log()
