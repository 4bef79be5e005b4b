"""TLS, certificates, users and passwords; and that no secret is ever shown."""

import contextlib
import signal
import subprocess

import pytest
from certificates import Authority
from etcd_server import PASSWORD, GatewayError, guard, login
from registry_world import etcd_world
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL, SLEEPER


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls_etcd(etcds, authority, subject="IP:127.0.0.1"):
    certificate, key = authority.sign("server", subject)
    client = authority.sign("client")
    flags = (
        "--cert-file", certificate, "--key-file", key,
        "--client-cert-auth", "--trusted-ca-file", authority.certificate,
    )  # fmt: skip
    return etcds(flags=flags, tls=authority.client_context(*client)), client


def stop(one):
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(timeout=PATIENCE) == 0
    return one.report()


def test_tls_with_a_certificate_of_the_client(world, etcds, authority):
    etcd, (certificate, key) = tls_etcd(etcds, authority)
    one = etcd_world(
        world,
        etcd,
        etcd={"ca_file": authority.certificate, "cert_file": certificate, "key_file": key},
    )
    one.process = one.run(*SLEEPER)
    etcd.wait_for_key()
    one.wait_for_log('"state":"registered"')
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert etcd.keys() == {}


def test_a_server_that_another_authority_signed_is_not_trusted(world, etcds, authority, tmp_path):
    etcd, (certificate, key) = tls_etcd(etcds, authority)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    one = etcd_world(
        world, etcd, etcd={"ca_file": other.certificate, "cert_file": certificate, "key_file": key}
    )
    one.run(*SLEEPER)
    one.wait_for_log("the server's certificate is not trusted")
    assert etcd.keys() == {}


def test_a_certificate_of_another_host_is_not_trusted(world, etcds, authority):
    certificate, key = authority.sign("server", "DNS:elsewhere.example")
    tls = authority.client_context()
    tls.check_hostname = False
    etcd = etcds(flags=("--cert-file", certificate, "--key-file", key), tls=tls)
    one = etcd_world(world, etcd, etcd={"ca_file": authority.certificate})
    one.run(*SLEEPER)
    one.wait_for_log("the server's certificate is not trusted")
    assert etcd.keys() == {}


def test_a_user_with_a_password_file_and_a_token_that_was_ended(world, etcds, tmp_path):
    etcd = etcds(flags=("--auth-token-ttl", "2"))
    guard(etcd)

    def read():
        with contextlib.suppress(GatewayError):  # its token may end before it is used, too
            return [etcd.gateway(token=login(etcd, "root", "root")).keys()]

    def keys():
        [found] = wait_until(read, "a token that lives until it is used")
        return found

    secret = tmp_path / "password"
    secret.write_text(PASSWORD + "\n")
    one = etcd_world(
        world, etcd, etcd={"username": "worker", "password_file": str(secret), "lease_ttl": "9s"}
    )
    one.process = one.run(*SLEEPER)
    one.wait_for_log('"state":"registered"')
    assert len(keys()) == 1
    # Longer than a token lives without being used, and shorter than the third of the lease.
    wait_until(lambda: True, pause=2.8)
    root = etcd.gateway(token=login(etcd, "root", "root"))
    root.ask("auth/user/add", name="another", password="x")  # ends every token
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert keys() == {}


def test_a_user_of_an_etcd_without_users_is_registered_and_stays_so_when_they_are_turned_on(
    world, etcd
):
    one = etcd_world(world, etcd, etcd={"username": "worker", "lease_ttl": "3s"})
    one.process = one.run(*SLEEPER, LASTCALL_ETCD_PASSWORD=PASSWORD)
    etcd.wait_for_key()
    root = etcd.gateway(token=guard(etcd))
    [registered] = root.keys()
    root.delete(registered)
    wait_until(root.keys, "it is entered again with a token")
    root.ask("auth/disable")
    assert stop(one)["registries"] == [{"name": "etcd", "state": "confirmed"}]
    assert etcd.keys() == {}


def test_a_wrong_password_is_reported_without_showing_it_anywhere(world, etcd):
    guard(etcd)
    one = etcd_world(world, etcd, etcd={"username": "worker"})
    one.run(*SLEEPER, LASTCALL_ETCD_PASSWORD="wrong-horse-1234")
    one.wait_for_log("cannot authenticate as worker")
    shown = [
        one.log(),
        str(one.status()),
        one.get("/readyz?verbose")[1],
        one.get("/metrics")[1],
        subprocess.run(
            (LASTCALL, "plan", "--config", one.write_config()), capture_output=True, text=True
        ).stdout,
    ]
    assert not [text for text in shown if "wrong-horse" in text]
