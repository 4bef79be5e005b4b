#!/usr/bin/python3
"""Many short lives of a fleet behind a router, with faults:

    tests/integration/router/chaos.py --seconds 600       # LASTCALL_BUILD_DIR names another build
    tests/integration/router/chaos.py --seed 7 --count 1  # one of them again

Each seed is one fleet: two to four workers (bare engines, and engines under `lastcall run`), of
which the last one is never struck, and up to thirty users with streams and whole answers, some of
which leave or read slowly. Meanwhile up to four faults come: an engine is killed, stalls for
a while or for ever, generates nothing any more, is rolled out; a supervisor is killed or frozen,
or the router itself is; a worker is added. Whatever happens there, this must hold:

1. an answer without an error is the whole answer, word for word, with one id and one end;
2. an answer with an error is the start of it, and the error states whether it may be sent again;
3. with one fault at the most no answer has an error;
4. when all users have gone, no engine computes for them, and the router counts each of them once,
   holds no connection of theirs, lets no request wait, and ends with 0 when it is asked to.

What does not hold is printed with its seed, and its folder is kept. The exit code is 1 then.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, *(os.path.join(HERE, each) for each in ("..", "../serve", "../ingress"))]

from ports import free_port  # noqa: E402
from router_world import Router, static  # noqa: E402
from serve_peer import PATIENCE, wait_until  # noqa: E402
from serve_world import World  # noqa: E402
from sim_fleet import Sim, User, answer  # noqa: E402

STALL_MS = 800
KINDS = ("kill", "freeze", "pause", "mute", "rollout", "kill serve", "pause serve", "pause router",
         "join")  # fmt: skip


class Plan:
    """The fleet that one seed stands for."""

    def __init__(self, seed):
        dice = random.Random(seed)
        self.supervised = [dice.random() < 0.6 for _ in range(dice.choice((2, 2, 3, 4)))]
        self.rates = [dice.choice((30, 60, 120)) for _ in self.supervised]
        self.hand_off = dice.choice(("early", "off"))
        self.by = dice.choice(("text", "auto", "vllm_ids"))
        self.users = [
            {"chat": dice.random() < 0.6, "stream": dice.random() < 0.85,
             "tokens": dice.choice((1, 2, 20, 60, 150)), "begins": dice.uniform(0, 2),
             "leaves": dice.uniform(0, 3) if dice.random() < 0.2 else None,
             "pace": 0.03 if dice.random() < 0.1 else 0,
             "usage": dice.random() < 0.3}
            for _ in range(dice.choice((1, 8, 30)))
        ]  # fmt: skip
        self.faults = sorted(
            (dice.uniform(0, 2.5), dice.choice(KINDS), dice.randrange(len(self.supervised) - 1),
             dice.uniform(0.05, 2))
            for _ in range(dice.choice((0, 1, 1, 2, 4)))
        )  # fmt: skip
        self.asks_for_load = dice.random() < 0.5

    def __str__(self):
        faults = ", ".join(f"{kind} of {whom} at {at:.2f} s for {length:.2f}"
                           for at, kind, whom, length in self.faults)  # fmt: skip
        workers = ", ".join("supervised" if each else "bare" for each in self.supervised)
        return (f"{workers} at {self.rates} tokens a second, hand_off {self.hand_off}, by "
                f"{self.by}, {'load is asked for, ' if self.asks_for_load else ''}"
                f"{len(self.users)} users; {faults or 'no fault'}")  # fmt: skip


class Bare:
    """An engine without a supervisor."""

    def __init__(self, _, rate, __):
        self.engine = Sim(rate=rate)
        self.address = self.engine.address
        self.shim = self.engine.process

    def is_up(self):
        return self.engine.is_up()

    def pid(self, _):
        return self.engine.process.pid

    def ask(self, method, path, body=None):
        return self.engine.ask(method, path, body)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.engine.process.send_signal(signal.SIGCONT)
        self.engine.close()


class Supervised:
    """An engine under `lastcall run`, whose ingress is the worker."""

    def __init__(self, folder, rate, hand_off):
        os.makedirs(folder)
        self.address = f"127.0.0.1:{free_port()}"
        port = free_port()
        self.one = World(
            folder,
            ingress={"listen": self.address, "upstream": f"127.0.0.1:{port}"},
            shutdown={"grace_period": "8s", "late_accept": "200ms", "hand_off": hand_off},
        )
        self.shim = self.one.run_engine("--rate", str(rate), port=port)
        self._engine = self.one.status()["engine"]["pid"]

    def is_up(self):
        return True

    def pid(self, which):
        return self.one.supervisor_pid() if which == "serve" else self._engine

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.one.engine_port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body else None)
            return None, json.loads(connection.getresponse().read() or b"{}")

    def close(self):
        self.one.close()


class Chaotic(User):
    """A user that may leave, read slowly, or want the answer whole."""

    def __init__(self, port, plan):
        self.plan, self.broken, self.leaving = plan, None, threading.Event()
        fields = {"stream_options": {"include_usage": True}} if plan["usage"] else {}
        fields = fields if plan["stream"] else {"stream": False}
        super().__init__(port, f"user {id(self)}", chat=plan["chat"], tokens=plan["tokens"],
                         **fields)  # fmt: skip

    def run(self):
        if self.plan["leaves"] is not None:
            threading.Timer(self.plan["leaves"], self.leave).start()
        try:
            super().run()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.broken = error

    def take(self, data):
        super().take(data)
        self.leaving.wait(self.plan["pace"])

    def leave(self):
        self.leaving.set()
        with contextlib.suppress(OSError, AttributeError):
            self.connection.sock.shutdown(2)

    def findings(self, may_fail):
        whole = answer(self.tokens).rstrip()
        text = self.text.rstrip()
        if self.is_alive():
            yield f"has no end, after {len(text.split())} of {self.tokens} words"
        elif self.leaving.is_set():
            if not whole.startswith(text):
                yield f"has {text[-60:]!r} before it left"
        elif self.broken is not None:
            yield f"its answer is torn: {self.broken!r}, {self.status}, {text[-60:]!r}"
        elif self.error is not None:
            if not whole.startswith(text):
                yield f"has {text[-60:]!r} before its error {self.error}"
            if "message" not in self.error or self.done:
                yield f"its error is odd: {self.error}, [DONE] {self.done} times"
            if not may_fail:
                yield f"has an error: {self.status} {self.error}"
        elif text != whole:
            words = len(text.split())
            yield f"has the wrong answer of {words} of {self.tokens} words: {text[-90:]!r}"
        elif (len(self.ids), self.reasons, self.done) != (1, ["length"], 1):
            yield f"has ids {self.ids}, ends {self.reasons}, [DONE] {self.done} times"
        elif self.plan["usage"] and self.plan["stream"]:
            counts = [each["completion_tokens"] for each in self.usage]
            if counts[-1:] != [self.tokens] or len(counts) != 1:
                yield f"its usage is {self.usage}, expected {self.tokens} tokens once"


class Fleet:
    def __init__(self, seed, folder):
        self.plan, self.folder = Plan(seed), folder
        self.workers, self.struck, self.threads = [], set(), []
        self.router, self.users, self.is_over = None, [], threading.Event()

    def add(self, supervised, rate):
        kind = Supervised if supervised else Bare
        worker = kind(os.path.join(self.folder, f"w{len(self.workers)}"), rate, self.plan.hand_off)
        self.workers.append(worker)
        wait_until(worker.is_up, "the engine is up", patience=60)

    def sources(self):
        return [static(*(each.address for each in self.workers), model="sim")]

    def start(self):
        for supervised, rate in zip(self.plan.supervised, self.plan.rates):
            self.add(supervised, rate)
        self.router = Router(
            self.folder, self.sources(),
            migration={"stall": f"{STALL_MS}ms", "by": self.plan.by, "wait": "10s"},
            choosing={"skip_first": "200ms", "skip_most": "2s"},
            load={"interval": "100ms" if self.plan.asks_for_load else None, "max_age": "1s"},
            # Else nothing shows that an engine stalls which has whole answers alone.
            timeouts={"first_byte": "15s"},
        ).start()  # fmt: skip

    def signal(self, pid, *numbers, length=0.0):
        """The second one comes after `length` seconds."""
        if not pid:  # between two lives of a supervisor; 0 would be our own group
            return
        for number in numbers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
            if number != numbers[-1]:
                self.is_over.wait(length)

    def strike(self, kind, whom, length):
        worker = self.workers[whom]
        if kind == "join":
            self.add(supervised=False, rate=60)
            self.router.config["workers"] = self.sources()
            self.router.write_config()
            return self.router.process.send_signal(signal.SIGHUP)
        if kind == "pause router":
            pid = self.router.process.pid
            return self.signal(pid, signal.SIGSTOP, signal.SIGCONT, length=length)
        self.struck.add(whom)
        if worker.shim.poll() is not None:
            return None
        if kind == "rollout":
            return self.signal(worker.shim.pid, signal.SIGTERM)
        if kind == "mute":
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                worker.ask("POST", "/sim/control", {"hang": "tokens"})
            return None
        pid = worker.pid("serve" if kind.endswith("serve") else "engine")
        if kind.startswith("kill"):
            return self.signal(pid, signal.SIGKILL)
        if kind == "freeze":
            return self.signal(pid, signal.SIGSTOP)
        return self.signal(pid, signal.SIGSTOP, signal.SIGCONT, length=length)

    def run(self):
        self.start()
        agenda = [(each["begins"], self.begin, (each,)) for each in self.plan.users]
        agenda += [(at, self.later, (kind, whom, length))
                   for at, kind, whom, length in self.plan.faults]  # fmt: skip
        zero = time.monotonic()
        for at, act, arguments in sorted(agenda, key=lambda each: each[0]):
            self.is_over.wait(max(0.0, zero + at - time.monotonic()))
            act(*arguments)
        for thread in [*self.threads, *self.users]:
            thread.join(max(0.0, zero + 60 - time.monotonic()))
        return [*self.of_users(), *self.of_workers(), *self.of_router()]

    def begin(self, plan):
        self.users.append(Chaotic(self.router.port, plan))

    def later(self, *fault):
        self.threads.append(threading.Thread(target=self.strike, args=fault))
        self.threads[-1].start()

    def of_users(self):
        may_fail = len(self.plan.faults) > 1
        for number, user in enumerate(self.users):
            for found in user.findings(may_fail):
                yield f"user {number} {found} ({user.plan})"

    def of_workers(self):
        for number, worker in enumerate(self.workers):
            if number in self.struck:
                continue
            try:
                wait_until(lambda: self.is_idle(worker), "nobody computes")  # noqa: B023
            except AssertionError:
                state = worker.ask("GET", "/sim/state")[1]
                yield f"worker {number} computes for nobody: {state}"

    @staticmethod
    def is_idle(worker):
        state = worker.ask("GET", "/sim/state")[1]
        return state["running"] == state["waiting"] == 0

    def of_router(self):
        router = self.router
        if router.process.poll() is not None:
            yield f"the router ended with {router.process.returncode}: {router.log()[-1000:]}"
            return
        for family, labels, due in (
            ("dynamo_frontend_requests_total", {}, len(self.users)),
            ("dynamo_frontend_inflight_requests", {}, 0),
            ("dynamo_frontend_queued_requests", {}, 0),
            ("lastcall_router_waiting", {}, 0),
            ("lastcall_router_record_bytes", {}, 0),
            ("lastcall_router_connections", {"side": "client"}, 0),
        ):
            try:
                router.counts(family, due, **labels)
            except AssertionError:
                yield f"{family} is {router.metric(family, **labels)}, expected {due}"
        yield from self.of_sums()
        code = router.stop()
        if code != 0:
            yield f"the router ended with {code}"

    def of_sums(self):
        """What two families count is the same where docs/router.md says so."""
        metric = self.router.metric
        requests = "dynamo_frontend_requests_total"
        cancelled = metric(requests, error_type="cancelled")
        moves, migrations = "lastcall_router_moves_total", "lastcall_router_migrations_total"
        for one, other, what in (
            (metric("dynamo_frontend_request_duration_seconds_count"), metric(requests),
             "durations and requests"),
            (metric("dynamo_frontend_disconnected_clients_total"), cancelled,
             "clients that left and requests that were cancelled"),
            (metric("dynamo_frontend_disconnected_clients"), cancelled,
             "clients that left in all, and requests that were cancelled"),
            (metric("dynamo_frontend_model_cancellation_total"), cancelled,
             "cancellations and requests that were cancelled"),
            (metric(moves), metric(migrations), "moves and migrations"),
            (metric(migrations, why_not=""),
             metric("dynamo_frontend_model_migration_total", migration_type="ongoing_request"),
             "migrations without a why_not, under both names"),
            (metric(moves, outcome="refused"),
             metric(migrations) - metric(migrations, why_not=""),
             "moves that were refused, and migrations with a why_not"),
        ):  # fmt: skip
            if one != other:
                yield f"{what} differ: {one} and {other}\n{self.router.operator('/metrics')[1]}"
        continued = metric(moves, outcome="continued")
        pauses = metric("lastcall_router_pause_seconds_count")
        if pauses > continued:  # an answer that moves before its first event has no pause
            yield f"more pauses than moves that continued: {pauses} and {continued}"

    def close(self):
        self.is_over.set()
        for worker in self.workers:
            worker.close()
        if self.router:
            self.router.close()


def live(seed, folder):
    """(has findings, users, errors that they had); removes the folder where there are none."""
    fleet = Fleet(seed, folder)
    try:
        found = fleet.run()
    except (AssertionError, OSError) as error:
        found = [f"could not be run: {error!r}"]
    finally:
        fleet.close()
    if found:
        print(f"seed {seed}: {fleet.plan}\n  {folder}", *found, sep="\n  ", flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    errors = [(each.status, each.error.get("reason") or each.error.get("type"))
              for each in fleet.users if each.error]  # fmt: skip
    return bool(found), len(fleet.users), errors


def main():
    parser = argparse.ArgumentParser(description="fleets with faults behind a router")
    parser.add_argument("--seed", type=int, default=1, help="the first one; 1")
    parser.add_argument("--count", type=int, default=0, help="of fleets; or --seconds")
    parser.add_argument("--seconds", type=float, default=60, help="how long it begins new ones; 60")
    parser.add_argument("--jobs", type=int, default=3, help="fleets at a time; 3")
    options = parser.parse_args()
    until = None if options.count else time.monotonic() + options.seconds
    seeds = range(options.seed, options.seed + (options.count or 100_000))
    done, failed, users, errors = 0, 0, 0, {}

    def one(seed):
        if until is not None and time.monotonic() >= until:
            return None
        return live(seed, tempfile.mkdtemp(prefix=f"fleet-{seed}-"))

    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(one, seeds):
            if result is None:
                continue
            done, failed, users = done + 1, failed + result[0], users + result[1]
            for error in result[2]:
                errors[error] = errors.get(error, 0) + 1
    told = ", ".join(f"{status} {reason} {count}x"
                     for (status, reason), count in sorted(errors.items(), key=str))  # fmt: skip
    print(f"{done} fleets, {failed} with findings; {users} users, errors: {told or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
