"""Several threads that relay: what they share is as exact as with one."""

import contextlib
import json
import os
import signal
import subprocess
import threading

import pytest
from raw_engine import Wire, client, get, metric, ok, post, stream
from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL

THREADS = (3,)


def relaying(one):
    """{name: the folder of its thread in /proc}, of the threads that relay."""
    tasks = f"/proc/{one.supervisor_pid()}/task"
    found = {}
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/comm") as file:
            found[file.read().strip()] = f"{tasks}/{task}"
    return {name: task for name, task in found.items() if name.startswith("ingress-")}


def status_of(task, key):
    with open(f"{task}/status") as file:
        [value] = [line.split()[1] for line in file if line.startswith(key + ":")]
    return value


def sleeps(one):
    """How often each of them has waited for something to do."""
    return {name: int(status_of(task, "voluntary_ctxt_switches"))
            for name, task in relaying(one).items()}  # fmt: skip


class BusyEngine:
    """Answers at once; `twice` are the ids that came while they were live."""

    def __init__(self, raw):
        self.twice, self.served, self._live = [], 0, set()
        self._lock, self._raw = threading.Lock(), raw
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(Exception):
            while True:
                wire = Wire(self._raw._arrived.get())
                threading.Thread(target=self._answer, args=(wire,), daemon=True).start()

    def _answer(self, wire):
        wire.socket.settimeout(None)
        with contextlib.suppress(OSError, AssertionError):
            while True:
                name = wire.until(b"\r\n\r\n").partition(b"X-Request-Id: ")[2].split(b"\r")[0]
                wire.until(b"}")
                with self._lock:
                    self.twice += [name] if name in self._live else []
                    self._live.add(name)
                with self._lock:
                    self._live.remove(name)
                    self.served += 1
                wire.send(ok())


def test_each_thread_has_a_name_and_takes_no_signals(proxy):
    found = relaying(proxy())
    assert sorted(found) == ["ingress-0", "ingress-1", "ingress-2"]
    terminates = 1 << (signal.SIGTERM - 1)
    for task in found.values():
        assert int(status_of(task, "SigBlk"), 16) & terminates


def test_one_thread_is_the_supervisors_own(proxy):
    assert relaying(proxy(ingress={"threads": 1})) == {}


def test_kept_connections_are_spread_evenly_and_so_are_those_that_replace_them(proxy, engine):
    one, rounds = proxy(), 30
    BusyEngine(engine)
    users = [client(one) for _ in range(3)]
    for _ in range(3):
        before = sleeps(one)
        for _ in range(rounds):
            for user in users:
                user.send(post())
                user.until(b"hello")
        after = sleeps(one)
        for name, count in before.items():
            assert after[name] - count >= rounds / 2, (before, after)
        for gone in range(2):  # whose threads have the fewest now
            users[gone].close()
        wait_until(lambda: metric(one, "lastcall_ingress_connections", side="client") == 1, "left")
        users = [users[2], client(one), client(one)]


def test_an_id_is_that_of_one_live_request_over_all_threads(proxy, engine):
    one = proxy()
    users = [client(one) for _ in range(3)]
    for user in users:
        user.send(post("/v1/chat/completions", b'{"model":"m"}', "X-Request-Id: same"))
    heads = [engine.request()[1] for _ in users]
    ids = sorted(head.partition(b"X-Request-Id: ")[2].split(b"\r")[0] for head in heads)
    assert ids == [b"same", b"same-2", b"same-3"]
    rows = one.operator().ask("requests")["requests"]
    assert sorted(row["id"] for row in rows) == ["same", "same-2", "same-3"]


def test_an_id_that_comes_again_and_again_is_never_two_requests_nor_refused(proxy, engine):
    one, rounds, wrong = proxy(), 200, []
    busy = BusyEngine(engine)

    def ask():
        user = client(one)
        try:
            for _ in range(rounds):
                user.send(post("/v1/chat/completions", b'{"model":"m"}', "X-Request-Id: same"))
                head = user.until(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 "), head
                user.until(b"hello")
        except (OSError, AssertionError) as error:
            wrong.append(repr(error))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(4 * PATIENCE)
    assert (wrong, busy.twice, busy.served) == ([], [], 3 * rounds)
    wait_until(lambda: metric(one, "lastcall_requests_total", outcome="completed") == 3 * rounds,
               "each was counted")  # fmt: skip
    assert one.status()["in_flight"]["requests"] == 0


def test_max_connections_is_one_limit_over_all_threads(proxy, engine):
    one = proxy(ingress={"max_connections": 4})
    users = [stream(one, engine)[0] for _ in range(4)]
    for _ in range(10):
        late = client(one)
        assert b'"type":"too_many_connections"' in late.until(b"}}\n")
        late.close()
        wait_until(lambda: metric(one, "lastcall_ingress_connections", side="client") == 4, "four")
        users.pop(0).close()
        wait_until(lambda: metric(one, "lastcall_ingress_connections", side="client") == 3, "room")
        users.append(stream(one, engine)[0])
        wait_until(lambda: metric(one, "lastcall_ingress_connections", side="client") == 4, "full")


def test_requests_that_all_threads_relayed_and_cut_are_in_the_report(proxy, engine):
    # The engine has its TERM after 3.5 s, and 2.5 s to end.
    one = proxy(shutdown={"grace_period": "7s", "cleanup_reserve": "3500ms"})
    done = [stream(one, engine) for _ in range(7)]
    cut = [stream(one, engine) for _ in range(9)]
    one.process.terminate()
    one.wait_for_phase("draining")
    for user, wire in done:
        wire.send(b"0\r\n\r\n")
        user.until(b"0\r\n\r\n")
    for user, wire in cut:
        last = user.rest()
        assert b'"type":"migrated"' in last and not last.endswith(b"0\r\n\r\n")
        assert wire.ended()
    assert one.process.wait(timeout=PATIENCE) == 0
    requests = one.report()["requests"]
    assert (requests["completed"], requests["migrated"]) == (7, 9)
    reported = [record for record in one.records() if record["msg"] == "request handed off"]
    assert len(reported) == len({record["id"] for record in reported}) == 9


def test_an_engine_that_dies_is_reported_as_dead_by_every_thread(proxy, engine):
    one = proxy(shutdown={"grace_period": "8s"})
    users = [stream(one, engine) for _ in range(6)]
    os.kill(one.status()["engine"]["pid"], signal.SIGKILL)
    for _, wire in users:
        wire.close()
    for user, _ in users:
        error = json.loads(user.rest().split(b"data: ")[-1].partition(b"\n")[0])["error"]
        assert error["type"] == "engine_dead", error


def test_clients_that_only_connect_end_with_the_listener(proxy, engine):
    one = proxy()
    users = [client(one) for _ in range(6)]
    users[0].send(get("/v1/models"))
    wire, _ = engine.request()
    wire.send(ok())
    users[0].until(b"hello")
    one.process.terminate()
    for user in users:
        assert user.ended()
    assert one.process.wait(timeout=PATIENCE) == 0


@pytest.mark.parametrize("wrong", [0, 65])
def test_a_number_of_threads_out_of_range_is_an_error(tmp_path, wrong):
    path = tmp_path / "lastcall.yaml"
    path.write_text(f"ingress: {{upstream: '127.0.0.1:1', threads: {wrong}}}\n")
    said = subprocess.run((LASTCALL, "check", "--config", path), capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert said.returncode == 2
    assert "ingress.threads" in said.stdout + said.stderr
    assert "1 to 64" in said.stdout + said.stderr


def test_another_number_of_threads_needs_a_restart(proxy):
    one = proxy()
    one.config["ingress"]["threads"] = 2
    one.write_config()
    done = subprocess.run(
        (LASTCALL, "reload", "--admin-socket", one.admin_socket),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "not changed: ingress.threads: 3 -> 2: needs a restart" in done.stderr
    assert len(relaying(one)) == 3
