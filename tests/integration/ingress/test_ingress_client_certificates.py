"""Clients that show certificates, the versions and ciphers that they may use, and errors that name
the file."""

import os
import ssl
import subprocess
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "../registries"))

from certificates import EC, Authority  # noqa: E402
from raw_engine import Wire, client, get, metric, ok, post  # noqa: E402
from serve_peer import PATIENCE, wait_until  # noqa: E402

# Two primes of such a key take a quarter of a second, so only tests of ciphers have one.
RSA = ("-newkey", "rsa:2048", "-nodes")
FAILED = "a client's TLS handshake failed"


@pytest.fixture
def authority(tmp_path):
    return Authority(str(tmp_path))


@pytest.fixture
def secure(authority, proxy):
    """Makes an ingress with a certificate of the authority, and more keys of `ingress.tls`."""

    def make(kind=EC, threads=None, control=None, **tls):
        certificate, key = authority.sign("server", kind=kind)
        tls = {"cert_file": certificate, "key_file": key, **tls}
        ingress = {"tls": tls, **({"control_paths": control} if control else {})}
        return proxy(ingress={**ingress, **({"threads": threads} if threads else {})})

    return make


def connect(one, context):
    return Wire(context.wrap_socket(client(one).socket, server_hostname="127.0.0.1"))


def answer(one, context, sent, engine=None):
    """The status line, with the engine's answer where it gets that far; else what broke it."""
    try:
        user = connect(one, context)
        user.send(sent)
        if engine is not None:
            wire, _ = engine.request()
            wire.send(ok(b"hello", "Connection: close"))
        return user.until(b"\r\n").decode().strip()
    except (OSError, AssertionError) as error:
        return type(error).__name__


def failures(one, reason):
    return metric(one, "lastcall_ingress_tls_failures_total", reason=reason)


def is_refused(one, context):
    return not answer(one, context, get()).startswith("HTTP/1.1 ")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_client_without_a_certificate_is_refused_where_one_is_required(
    secure, authority, engine, threads
):
    one = secure(client_ca_file=authority.certificate, threads=threads)
    assert is_refused(one, authority.client_context())
    wait_until(lambda: failures(one, "certificate") == 1, "counted")
    assert engine.connections() == 0
    one.wait_for_log(FAILED)
    assert "peer did not return a certificate" in one.log()
    known = authority.client_context(*authority.sign("user"))
    assert answer(one, known, get(), engine) == "HTTP/1.1 200 OK"


def test_a_certificate_of_others_an_expired_one_and_a_servers_are_refused(
    secure, authority, engine, tmp_path_factory
):
    for rule in ("required", "optional"):
        one = secure(client_ca_file=authority.certificate, client_certificates=rule)
        stranger = Authority(str(tmp_path_factory.mktemp("other")))
        assert is_refused(one, authority.client_context(*stranger.sign("ops")))
        assert is_refused(one, authority.client_context(*authority.sign("old", days=-1)))
        servers = authority.sign("server-only", usage="serverAuth")
        assert is_refused(one, authority.client_context(*servers))
        wait_until(lambda one=one: failures(one, "certificate") == 3, "all counted")
        assert one.log().count(FAILED) == 1  # strangers do not fill the log
    assert engine.connections() == 0


def test_a_certificate_is_optional_where_configured(secure, authority, engine):
    one = secure(client_ca_file=authority.certificate, client_certificates="optional")
    assert answer(one, authority.client_context(), get(), engine) == "HTTP/1.1 200 OK"


def test_an_authority_that_was_taken_away_lets_nobody_in(
    secure, authority, engine, tmp_path_factory
):
    """Sessions are not resumed: each handshake is checked again."""
    other = Authority(str(tmp_path_factory.mktemp("other")))
    trusted = str(tmp_path_factory.mktemp("trusted") / "clients.pem")
    with open(authority.certificate, "rb") as file, open(trusted, "wb") as copy:
        copy.write(file.read())
    one = secure(client_ca_file=trusted)
    known = authority.client_context(*authority.sign("user"))
    known.maximum_version = ssl.TLSVersion.TLSv1_2
    user = connect(one, known)
    session = user.socket.session
    user.close()
    with open(other.certificate, "rb") as file, open(f"{trusted}.new", "wb") as copy:
        copy.write(file.read())
    os.rename(f"{trusted}.new", trusted)

    def is_closed():
        resumed = client(one).socket
        try:
            with known.wrap_socket(resumed, server_hostname="127.0.0.1", session=session):
                return False
        except OSError:
            return True

    wait_until(is_closed, "the new authority holds")
    assert "the ingress has read its certificate again" in one.log()


@pytest.mark.parametrize(
    ("subject", "names", "is_operator"),
    [
        ("DNS:ops.example", ["ops.example"], True),
        ("URI:spiffe://cluster.local/ns/ops/sa/a", ["spiffe://cluster.local/ns/ops/sa/a"], True),
        ("email:ops@example.org", ["x", "ops@example.org"], True),
        ("", ["someone"], True),  # the common name
        ("DNS:other.example", ["someone"], False),  # which does not count beside another name
        ("DNS:ops.example.org", ["ops.example"], False),
        ("DNS:*.example", ["ops.example"], False),
        ("DNS:ops.example", [], False),
    ],
)  # fmt: skip
def test_an_operator_is_known_by_a_name_of_its_certificate(
    secure, authority, engine, subject, names, is_operator
):
    control = {"certificates": names} if names else {"access": "operators"}
    one = secure(client_ca_file=authority.certificate, control=control)
    known = authority.client_context(*authority.sign("someone", subject=subject))
    status = answer(one, known, post("/sleep", b""), engine if is_operator else None)
    assert status == ("HTTP/1.1 200 OK" if is_operator else "HTTP/1.1 403 Forbidden")
    granted = metric(one, "lastcall_ingress_control_requests_total", decision="granted")
    assert granted == int(is_operator)
    if is_operator:
        one.wait_for_log(f'"by":"certificate","certificate":"{names[-1]}"')


def test_without_a_certificate_a_client_is_no_operator(secure, authority, engine):
    one = secure(client_ca_file=authority.certificate, client_certificates="optional",
                 control={"certificates": ["ops"], "token": "opensesame"})  # fmt: skip
    stranger = authority.client_context()
    assert answer(one, stranger, post("/sleep", b"")) == "HTTP/1.1 403 Forbidden"
    by_token = post("/sleep", b"", "X-Lastcall-Token: opensesame")
    assert answer(one, stranger, by_token, engine) == "HTTP/1.1 200 OK"


# --- versions and ciphers ------------------------------------------------------------------------


def speaking(authority, ciphers=None, version=None):
    context = authority.client_context()
    if version:
        context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    return context


def test_no_connection_is_without_forward_secrecy(secure, authority, engine):
    one = secure(RSA)
    for cipher in ("AES128-GCM-SHA256", "AES256-SHA", "ECDHE-RSA-AES128-SHA", "kRSA"):
        old = speaking(authority, cipher, ssl.TLSVersion.TLSv1_2)
        assert is_refused(one, old), cipher
    wait_until(lambda: failures(one, "protocol") == 4, "each counted")
    good = speaking(authority, "ECDHE-RSA-AES256-GCM-SHA384", ssl.TLSVersion.TLSv1_2)
    assert answer(one, good, get(), engine) == "HTTP/1.1 200 OK"


def test_the_oldest_version_is_configured(secure, authority, engine):
    one = secure(RSA, min_version="TLSv1.3")
    assert is_refused(one, speaking(authority, version=ssl.TLSVersion.TLSv1_2))
    assert connect(one, speaking(authority)).socket.version() == "TLSv1.3"


def test_the_first_cipher_that_both_have_is_taken(secure, authority):
    one = secure(RSA, ciphers=["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"])
    user = connect(one, speaking(authority))  # which would rather speak TLS 1.3
    assert user.socket.version() == "TLSv1.2"
    assert user.socket.cipher()[0] == "ECDHE-RSA-AES256-GCM-SHA384"
    user.close()
    new = secure(RSA, ciphers=["TLS_CHACHA20_POLY1305_SHA256"])
    assert connect(new, speaking(authority)).socket.cipher()[0] == "TLS_CHACHA20_POLY1305_SHA256"
    assert is_refused(new, speaking(authority, version=ssl.TLSVersion.TLSv1_2))


# --- files that cannot be used -------------------------------------------------------------------


def encrypted(key, path):
    subprocess.run(("openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", path),
                   check=True, capture_output=True)  # fmt: skip


CASES = {
    "cert_file": {
        "missing": "cannot use the certificate in {}: No such file or directory",
        "empty": "cannot use the certificate in {}: the file is empty",
        "text": "cannot use the certificate in {}: no certificate in PEM",
        "directory": "cannot use the certificate in {}: not a regular file",
        "pipe": "cannot use the certificate in {}: not a regular file",
    },
    "key_file": {
        "missing": "cannot use the key in {}: No such file or directory",
        "text": "cannot use the key in {}: no private key in PEM",
        "certificate": "cannot use the key in {}: no private key in PEM",
        "other": "cannot use the key in {}: it is not the key of the certificate in ",
        "passphrase": "cannot use the key in {}: it has a passphrase, expected a key without one",
    },
    "client_ca_file": {
        "missing": "cannot use the authorities in {}: No such file or directory",
        "text": "cannot use the authorities in {}: no certificate in PEM",
    },
}  # fmt: skip


def spoilt(how, authority, path):
    if how == "directory":
        os.mkdir(path)
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "passphrase":
        encrypted(os.path.join(authority.directory, "server.key"), path)
    elif how != "missing":
        texts = {"empty": b"", "text": b"not PEM\n"}
        source = {"certificate": "server.pem", "other": "other.key"}.get(how)
        if source:
            with open(os.path.join(authority.directory, source), "rb") as file:
                texts[how] = file.read()
        with open(path, "wb") as file:
            file.write(texts[how])


@pytest.mark.parametrize(("key", "how"), [(key, how) for key in CASES for how in CASES[key]])
def test_an_error_names_the_file_and_the_cause(world, authority, engine, key, how):
    certificate, private = authority.sign("server")
    authority.sign("other")
    path = os.path.join(authority.directory, "spoilt")
    spoilt(how, authority, path)
    tls = {"cert_file": certificate, "key_file": private,
           "client_ca_file": authority.certificate, key: path}  # fmt: skip
    one = world(ingress={"listen": "127.0.0.1:0", "upstream": engine.address, "tls": tls})
    assert one.serve().wait(timeout=PATIENCE) == 1
    assert "ingress.tls: " + CASES[key][how].format(path) in one.log()


def test_an_expired_certificate_is_reported_and_used(secure, authority, proxy):
    certificate, key = authority.sign("old", days=-1)
    one = proxy(ingress={"tls": {"cert_file": certificate, "key_file": key}})
    assert f"the certificate in {certificate} has expired" in one.log()
