"""Clients that speak TLS to the router: answers that move, clients that leave, certificates."""

import contextlib
import json
import os
import socket
import tempfile

import pytest
from certificates import Authority
from raw_engine import SSE_HEAD, Wire, chunk, get, post
from router_world import Router, command, static
from scripted_worker import TOKENS, Answer, ScriptedWorker, data, whole
from serve_peer import PATIENCE, wait_until
from test_ingress_tls import switch


class Secure:
    def __init__(self, directory, router):
        self.authority, self.router = Authority(directory), router
        self.directory = os.path.join(directory, "volume")
        os.mkdir(self.directory)
        switch(self.authority.sign("first"), self.directory, 1)

    def start(self, *addresses, **config):
        paths = {f"{kind}_file": os.path.join(self.directory, f"tls.{end}")
                 for kind, end in (("cert", "crt"), ("key", "key"))}  # fmt: skip
        self.one = self.router(*addresses, tls=paths, **config)
        return self.one

    def plain(self):
        return Wire(socket.create_connection(("127.0.0.1", self.one.port), PATIENCE))

    def wrap(self, wire):
        context = self.authority.client_context()
        return Wire(context.wrap_socket(wire.socket, server_hostname="127.0.0.1"))

    def subject(self):
        """The name that greets a new client."""
        wire = self.wrap(self.plain())
        [[[_, name]]] = wire.socket.getpeercert()["subject"]
        wire.close()
        return name

    def answer(self, content="x"):
        return Answer(self.one.port, content, wrap=self.wrap)


@pytest.fixture
def secure(tmp_path, router):
    return Secure(str(tmp_path), router)


@pytest.fixture
def fleet():
    made, seen = [], set()

    def make(first, then=whole):
        made.extend(ScriptedWorker(first, then, seen) for _ in range(2))
        return made

    yield make
    for each in made:
        each.close()


def breaks(leg):
    leg.send(SSE_HEAD + b"".join(chunk(leg.token(number)) for number in range(TOKENS - 1)))


def cannot_go_on(leg):
    leg.send(b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno")


def hangs(leg):
    leg.send(SSE_HEAD + chunk(data({"id": "w", "model": "m", "choices": []})))
    leg.wait()


def test_an_answer_that_moves_is_whole(secure, fleet):
    workers = fleet(breaks)
    secure.start(*(each.address for each in workers))
    for number in range(10):
        answer = secure.answer(f"{number}").ended()
        assert answer.is_whole()
    assert sum(len(each.legs) for each in workers) == 20


def test_an_answer_that_cannot_go_on_ends_with_its_event_and_no_end(secure, fleet):
    secure.start(*(each.address for each in fleet(breaks, cannot_go_on)))
    assert secure.answer().ended().error()["reason"] == "worker_cannot"


@pytest.mark.parametrize("how", ["close_notify", "no_word"])
def test_a_client_that_leaves_in_a_migration_ends_every_leg(secure, fleet, how):
    workers = fleet(breaks, hangs)
    one = secure.start(*(each.address for each in workers))
    answer = secure.answer().has(1)
    wait_until(lambda: sum(len(each.legs) for each in workers) == 2, "it moves")
    if how == "close_notify":
        answer.wire.socket.settimeout(0.01)
        try:
            answer.wire.socket.unwrap()
        except OSError:
            pass  # the router need not answer it
    answer.leave()
    wait_until(lambda: sum(each.open() for each in workers) == 0, "every leg has ended")
    assert one.counts("dynamo_frontend_inflight_requests", 0)


def test_a_body_of_many_records_reaches_the_second_worker_whole(secure, engines):
    secure.start(*(each.address for each in engines))
    user = secure.wrap(secure.plain())
    body = b'{"model":"m","prompt":"%b"}' % (b"x" * 2_000_000)
    user.send(post(body=body))
    wait_until(lambda: any(each.has_arrived() for each in engines), "a worker is asked")
    number = 0 if engines[0].has_arrived() else 1
    wire, _ = engines[number].request()
    wire.exactly(100_000)
    wire.close()
    other, _ = engines[1 - number].request()
    assert other.exactly(len(body)) == body


def test_a_switched_certificate_is_read_anew_and_an_answer_goes_on(secure, engines):
    secure.start(engines[0].address)
    user = secure.wrap(secure.plain())
    user.send(post())
    wire, _ = engines[0].request()
    wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
    user.until(b"data: 1\n\n")
    switch(secure.authority.sign("second"), secure.directory, 2)
    wait_until(lambda: secure.subject() == "second", "the new certificate")
    wire.send(chunk(b"data: [DONE]\n\n") + chunk(b""))
    user.until(b"0\r\n\r\n")


@pytest.mark.plain_build  # sanitizers open descriptors for their own checks
def test_a_new_certificate_that_cannot_be_read_at_first_is_read_later(secure, engines):
    one = secure.start(engines[0].address)
    words = "cannot use the new certificate"

    def is_refused():
        with contextlib.suppress(OSError):  # there may be no room for this client
            assert secure.subject() == "first"
        return words in one.log()

    with one.short_of_descriptors(1):
        switch(secure.authority.sign("second"), secure.directory, 2)
        wait_until(is_refused, "it was tried")
    wait_until(lambda: secure.subject() == "second", "the new certificate")
    assert one.log().count(words) == 1


def test_plain_http_gets_a_400_and_a_close(secure, engines):
    one = secure.start(engines[0].address)
    user = secure.plain()
    user.send(get())
    answer = user.rest()
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"expected TLS" in answer
    assert secure.subject() == "first"
    assert one.process.poll() is None


def test_a_key_that_is_not_there_ends_it_with_1(secure, engines):
    os.remove(os.path.join(secure.directory, "tls.key"))
    config = secure.directory + "/router.yaml"
    with open(config, "w", encoding="utf-8") as file:
        json.dump({
            "listen": "127.0.0.1:0", "operators": "127.0.0.1:0",
            "workers": [static(engines[0].address)],
            "tls": {"cert_file": secure.directory + "/tls.crt",
                    "key_file": secure.directory + "/tls.key"},
        }, file)  # fmt: skip
    done = command("--config", config)
    assert done.returncode == 1
    assert "cannot use the key in " + secure.directory + "/tls.key" in done.stderr


def test_its_keys_and_tokens_are_hidden_from_a_process_of_the_same_user():
    as_nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        one = Router(directory, [static("127.0.0.1:1")])
        with contextlib.closing(one):
            one.start(*(as_nobody if os.geteuid() == 0 else ()), LASTCALL_ROUTER_TOKEN="hush")
            assert os.stat(f"/proc/{one.process.pid}/environ").st_uid == 0  # so of none that dumps
