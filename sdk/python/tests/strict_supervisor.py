"""A scripted supervisor on a real Unix socket, strict about every line that it gets.

It checks what docs/ipc.md says an engine may send (fields, types, closed sets, order, who owns
which id) and records violations; by itself it only welcomes, acknowledges and, when asked to,
admits. Everything else is scripted by the test.
"""

import contextlib
import json
import os
import socket
import threading
import time

TEXT, NUMBER, FLAG, TEXTS = str, int, bool, list

# op: (required fields, optional fields)
ENGINE_OPS = {
    "hello": (
        {"version": NUMBER, "role": TEXT, "name": TEXT, "sdk": TEXT, "critical": FLAG,
         "live": NUMBER},
        {},
    ),
    "endpoint.register": ({"endpoint": TEXT, "graceful_shutdown": FLAG}, {}),
    "endpoint.unregister": ({"endpoint": TEXT}, {}),
    "request.begin": (
        {"id": TEXT},
        {"root": TEXT, "parent": TEXT, "endpoint": TEXT, "model": TEXT, "stream": FLAG,
         "admit": FLAG, "resumed": FLAG, "priority": NUMBER, "way": TEXT, "began_at_ms": NUMBER},
    ),
    "request.end": ({"id": TEXT, "outcome": TEXT}, {}),
    "request.progress": ({"ids": TEXTS}, {}),
    "cancel": ({"ids": TEXTS, "mode": TEXT, "reason": TEXT}, {}),
    "cancel.done": ({"id": TEXT}, {}),
    "health": ({"status": TEXT, "detail": TEXT}, {}),
    "health.doubt": ({}, {}),
    "load": (
        {"dp_rank": NUMBER},
        {"active_decode_blocks": NUMBER, "kv_total_blocks": NUMBER,
         "active_prefill_tokens": NUMBER},
    ),
    "fatal": ({"reason": TEXT, "detail": TEXT}, {}),
    "registered": ({}, {}),
    "deregistered": ({}, {}),
    "cleanup.done": ({}, {}),
    "ack": ({}, {}),
    "error": ({"code": TEXT, "message": TEXT}, {}),
}  # fmt: skip

CLOSED_SETS = {
    "mode": {"stop", "kill"},
    "reason": {"client_disconnect", "control", "connection_lost", "parent", "operator", "migrate",
               "grace_timeout", "engine_dead"},
    "outcome": {"completed", "cancelled", "migrated", "error", "rejected", "lost",
                "engine_dead"},
    "status": {"healthy", "busy", "dead"},
    "code": {"bad_json", "too_long", "unknown_op", "bad_field", "duplicate_id", "not_yours",
             "not_allowed", "busy", "conflict", "version"},
}  # fmt: skip

WELCOME = {
    "op": "welcome", "version": 1, "phase": "serving", "grace_ms": 60000,
    "budgets": {"deregister_ms": 5000, "late_accept_ms": 1000, "cleanup_reserve_ms": 5000,
                "cancel_settle_ms": 1000},
}  # fmt: skip


class FakeSupervisor:
    def __init__(self, path, *, welcome=True, admit=True):
        self.path = path
        self.welcome = welcome
        self.admit = admit
        self.acks = True
        self.probe = None  # the mark of its own requests
        self.lines = []  # (connection number, message), in order of arrival
        self.violations = []
        self.connections = 0
        self._changed = threading.Condition()
        self._peers = []
        self._live = set()  # ids of the newest connection
        self._listener = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # --- script

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(8)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self):
        """As a crash: the listener and every connection end."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            os.unlink(self.path)
        self.hang_up()

    def hang_up(self):
        for peer in self._peers:
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        with self._changed:
            self._changed.wait_for(lambda: not self._peers, 5)

    def send(self, op, **fields):
        if op == "rejected":
            self._live.discard(fields["id"])
        self.send_raw(json.dumps({"op": op, **fields}).encode() + b"\n")

    def send_raw(self, data):
        self._peers[-1].sendall(data)

    def cancel(self, *ids, mode="stop", reason="migrate", **fields):
        self.send("cancel", ids=list(ids), mode=mode, reason=reason, **fields)

    # --- observe

    def all(self, op, connection=None):
        with self._changed:
            return [
                message
                for number, message in self.lines
                if message["op"] == op and connection in (None, number)
            ]

    def wait(self, op, count=1, connection=None, timeout=10, **fields):
        """The count-th message of this op with these fields, waiting for it to arrive."""

        def matching():
            return [
                message
                for number, message in self.lines
                if message["op"] == op
                and connection in (None, number)
                and all(message.get(key) == value for key, value in fields.items())
            ]

        with self._changed:
            arrived = self._changed.wait_for(lambda: len(matching()) >= count, timeout)
            assert arrived, f"no {op} {fields} within {timeout} s; got {self.lines}"
            return matching()[count - 1]

    def ops(self, connection):
        with self._changed:
            return [message["op"] for number, message in self.lines if number == connection]

    # --- the socket

    def _accept(self, listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with self._changed:
                self.connections += 1
                number = self.connections
                self._peers.append(peer)
            threading.Thread(target=self._serve, args=(peer, number), daemon=True).start()

    def _serve(self, peer, number):
        live = self._live = set()
        seqs = []
        try:
            with peer, peer.makefile("rb") as stream:
                for index, line in enumerate(stream):
                    if not line.endswith(b"\n"):
                        break  # begun and never ended: not a message
                    message = self._checked(line, index, live, seqs)
                    # A test that has seen a line may send its own: they come after the answer.
                    with contextlib.suppress(OSError):  # the engine may have left
                        self._answer(peer, message)
                    with self._changed:
                        self.lines.append((number, message))
                        self._changed.notify_all()
        except OSError:
            pass
        finally:
            with self._changed:
                self._peers.remove(peer)
                self._changed.notify_all()

    def _answer(self, peer, message):
        def say(op, **fields):
            peer.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")

        if message["op"] == "hello" and self.welcome:
            welcome = {**WELCOME, **({"probe": self.probe} if self.probe else {})}
            peer.sendall(json.dumps(welcome).encode() + b"\n")
        if self.acks and "seq" in message and message["op"] not in ("ack", "error"):
            say("ack", seq=message["seq"])
        if message["op"] == "request.begin" and message.get("admit") and self.admit:
            say("admitted", id=message["id"])

    # --- strictness

    def _checked(self, line, index, live, seqs):
        if len(line) > 64 * 1024 + 1:
            self._violation("line of %d bytes", len(line))
        message = json.loads(line.decode("utf-8"))
        op = message.get("op")
        if op not in ENGINE_OPS:
            self._violation("unknown op %r", message)
            return message
        if (op == "hello") != (index == 0):
            self._violation("hello has to be the first line and only that: %r", message)
        self._check_fields(op, message)
        self._check_ids(op, message, live)
        if "seq" in message and op not in ("ack", "error"):
            if type(message["seq"]) is not int or (seqs and message["seq"] <= seqs[-1]):
                self._violation("seq does not count up: %r", message)
            seqs.append(message["seq"])
        return message

    def _check_fields(self, op, message):
        required, optional = ENGINE_OPS[op]
        for key, kind in required.items():
            if type(message.get(key)) is not kind:
                self._violation("%s: %s is not a %s", op, key, kind.__name__)
        for key, value in message.items():
            if key in ("op", "seq") or key in required:
                continue
            if key not in optional:
                self._violation("%s: %s is not part of the protocol", op, key)
            elif type(value) is not optional[key]:
                self._violation("%s: %s is not a %s", op, key, optional[key].__name__)
        for key, allowed in CLOSED_SETS.items():
            # The reason of a fatal error is free text.
            if key in message and op != "fatal" and message[key] not in allowed:
                self._violation("%s: %s %r is outside its closed set", op, key, message[key])
        for each in [message.get("id", "x"), *message.get("ids", [])]:
            if type(each) is not str or not 0 < len(each.encode()) <= 256:
                self._violation("%s: bad id %r", op, each)

    def _check_ids(self, op, message, live):
        if op == "request.begin":
            if message["id"] in live:
                self._violation("duplicate id %r", message["id"])
            live.add(message["id"])
        elif op in ("request.end", "request.progress", "cancel", "cancel.done"):
            for each in message.get("ids", [message.get("id")]):
                if each not in live:
                    self._violation("%s: %r is not live", op, each)
        if op == "request.end":
            live.discard(message["id"])

    def _violation(self, text, *arguments):
        self.violations.append(text % arguments)


def eventually(condition, timeout=10):
    """Polls until true; fails when it never is."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.005)
