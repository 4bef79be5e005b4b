"""A peer of the supervisor that speaks the protocol of docs/ipc.md by hand.

Blocking, one thread. Big batches are bytes that were made before the clock started.
"""

import json
import socket
import time

from bench import PATIENCE
from figures import NotMeasured

RECEIVE = 1 << 18


class Peer:
    def __init__(self, path, role, **more):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(str(path))
        self._rest = b""
        self._lines = []
        self._seq = 0
        self.send({"op": "hello", "version": 1, "role": role, "name": "bench", **more})
        self.welcome = self.await_op("welcome")

    def close(self):
        self._socket.close()

    def send(self, *messages):
        self.send_bytes(encode(messages))

    def send_bytes(self, data):
        self._socket.sendall(data)

    def ask(self, message):
        """The result of its ack."""
        self._seq += 1
        self.send({**message, "seq": self._seq})
        while True:
            answer = self.next_message()
            if answer.get("seq") == self._seq:
                if answer["op"] == "error":
                    raise NotMeasured(f"{message['op']} was refused: {answer['message']}")
                return answer.get("result")

    def await_op(self, op, **fields):
        """The next message of that name with these fields; the ones before it are dropped."""
        while True:
            message = self.next_message()
            if message["op"] == "error" and op != "error":
                raise NotMeasured(f"the supervisor says: {message['message']}")
            if message["op"] == op and fields.items() <= message.items():
                return message

    def next_message(self):
        return json.loads(self.next_line()[1])

    def next_line(self):
        """(nanoseconds of CLOCK_MONOTONIC when it was read, bytes)."""
        while not self._lines:
            data = self._socket.recv(RECEIVE)
            at = time.monotonic_ns()
            if not data:
                raise NotMeasured("the supervisor closed the connection")
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._lines = [(at, line) for line in whole if line]
        return self._lines.pop(0)


def encode(messages):
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in messages)
