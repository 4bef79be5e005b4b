#!/usr/bin/env python3
"""Writes cmake/hot_functions.order: what a cancel and a request run, for the linker.

The list is of `lastcall` first, then of what only the router runs; each linker ignores what its
program does not have.

A cancel mostly comes to cores that slept, so what it costs is the pages and cache lines that it
touches: hot functions between cold ones are several times as many pages. Each situation is run
under valgrind's callgrind with few and with many repetitions; what is called once more with each of
them is hot. A name that is out of date does no harm, so this runs by hand, when a path has changed:

    ./dev build release && bench/hot_functions.py      # needs Debian's valgrind
"""

import collections
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import cancel_topic
import ingress_proxies
import ingress_topic
import router_topic
from bench import PATIENCE, Bench, need
from open_streams import next_stream
from supervised import Serve

ROOT = Path(__file__).resolve().parent.parent
ORDER = ROOT / "cmake/hot_functions.order"
BUILD = ROOT / "build/release"
LASTCALL = BUILD / "supervisor/libexec/lastcall/lastcall"  # not its launcher
ROUTER = BUILD / "router/lastcall-router"
FEW, MANY = 2, 42
EVENTS = 5  # of each stream


def cancels(bench, count):
    """Requests that begin, are cancelled by an operator, and end."""
    with Serve(bench) as serve:
        serve.await_serving()
        engines = cancel_topic.Supervised(bench, serve, 1, [bench.cancel, "engine"])
        engines.begin(count)
        for number in range(count):
            engines.round(number)
        engines.end()
        engines.close()
        serve.process.send_signal(signal.SIGTERM)
        serve.ended()


def _ingress(bench, engine):
    return ingress_proxies.start(bench, bench.lastcall, ingress_proxies.LASTCALL,
                                  ("serve", "--config", "{config}"), engine=engine,
                                  threads=1, lastcall_tls="")  # fmt: skip


def _router(bench, engine):
    return ingress_proxies.start(bench, bench.router, router_topic.ROUTER,
                                  ("--config", "{config}"), engine=engine)  # fmt: skip


def _user(port):
    user = socket.create_connection(("127.0.0.1", port), PATIENCE)
    user.sendall(ingress_topic.REQUEST)
    return user


def _end(process):
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)


def _streams(bench, count, front, event):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        process, port = front(bench, listener.getsockname()[1])
        for _ in range(count):
            with _user(port) as user:
                engine = next_stream(listener, ingress_topic.REQUEST[-1:])
                engine.sendall(ingress_topic.HEAD)
                for _ in range(EVENTS):
                    engine.sendall(event)
                    user.recv(65536)
            engine.settimeout(PATIENCE)
            engine.recv(1)  # until it is ended
            engine.close()
        _end(process)


def _small_requests(bench, count, front):
    with ingress_proxies.engine(bench) as engine:
        process, port = front(bench, engine)
        with _user(port) as user:
            for _ in range(count - 1):
                user.recv(65536)
                user.sendall(ingress_topic.REQUEST)
            user.recv(65536)
        _end(process)


def streams(bench, count):
    """Streams of a few events whose clients leave."""
    _streams(bench, count, _ingress, ingress_topic.EVENT)


def small_requests(bench, count):
    """Requests on one kept connection."""
    _small_requests(bench, count, _ingress)


def routed_streams(bench, count):
    """Streams whose events the router reads."""
    _streams(bench, count, _router, router_topic.EVENT)


def routed_requests(bench, count):
    _small_requests(bench, count, _router)


def _instructions(file):
    """{function: instructions} of a profile of callgrind, without those of libraries."""
    tables, found = {"fn": {}, "ob": {}}, collections.Counter()
    now, is_call = {"fn": "", "ob": ""}, False
    for line in file.read_text(errors="replace").splitlines():
        if match := re.match(r"(c?)(fn|ob)=\((\d+)\)(?: (.*))?$", line):
            callee, kind, number, name = match.groups()
            name = tables[kind].setdefault(number, name)
            if not callee:
                now[kind] = name
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[-+*\d]", line):
            is_ours = now["ob"].endswith((LASTCALL.name, ROUTER.name)) and " " not in now["fn"]
            if is_ours and not is_call:
                found[re.sub(r"'\d+$", "", now["fn"])] += int(line.split()[1])
            is_call = False
    return found


def hot(bench, situation, folder):
    profiles = []
    for count in (FEW, MANY):
        file = folder / f"{situation.__name__}-{count}"
        os.environ["CALLGRIND_OUT"] = str(file)
        situation(bench, count)
        profiles.append(_instructions(file))
    few, many = profiles
    return [name for name, cost in many.items() if cost - few[name] >= MANY - FEW]


def _under_callgrind(program, folder):
    # Debian's valgrind cannot read this library's debug information, which is of a newer version.
    stripped, under = folder / program.name, folder / f"callgrind-{program.name}"
    subprocess.run(["objcopy", "--strip-debug", str(program), str(stripped)], check=True)
    under.write_text(f"#!/bin/sh\nexec {need('valgrind')} -q --tool=callgrind --demangle=no"
                     f' --callgrind-out-file="$CALLGRIND_OUT" {stripped} "$@"\n')  # fmt: skip
    under.chmod(0o755)
    return str(under)


def main():
    bench = Bench(BUILD, quick=True)
    folder = bench.scratch
    bench.lastcall = _under_callgrind(LASTCALL, folder)
    bench.router = _under_callgrind(ROUTER, folder)
    started = time.monotonic()
    names = {}
    for situation in (cancels, streams, small_requests, routed_streams, routed_requests):
        names.update(dict.fromkeys(hot(bench, situation, folder)))
    ORDER.write_text("# Made by bench/hot_functions.py: what lld lays together, in this order.\n"
                     + "".join(f"{name}\n" for name in names))  # fmt: skip
    bench.close()
    print(f"{len(names)} functions in {time.monotonic() - started:.0f} s: {ORDER}")


if __name__ == "__main__":
    main()
