#!/usr/bin/env python3
"""An engine that streams: ingress_engine.py PORT

A request's JSON has `events`, and `together`: as many requests as this are answered at once, event
by event, when the last of them has come. Each event has its number.
"""

import json
import select
import socket
import sys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(number):
    data = b"data: %08d %b\n\n" % (number, b"x" * 191)
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(connections, events):
    for connection in connections:
        connection.sendall(HEAD)
    for number in range(events):
        data = event(number)
        for connection in connections:
            connection.sendall(data)
    for connection in connections:
        connection.sendall(b"0\r\n\r\n")


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
    poll, connections, asked, waiting = select.epoll(), {}, {}, []
    poll.register(listener, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[connection.fileno()], asked[connection.fileno()] = connection, b""
                poll.register(connection, select.EPOLLIN)
                continue
            try:
                data = connections[fd].recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                poll.unregister(fd)
                connections.pop(fd).close()
                continue
            asked[fd] += data
            head, _, body = asked[fd].partition(b"\r\n\r\n")
            if not body.endswith(b"}"):
                continue
            asked[fd] = b""
            wanted = json.loads(body)
            waiting.append(connections[fd])
            if len(waiting) == wanted["together"]:
                answer(waiting, wanted["events"])
                waiting = []


if __name__ == "__main__":
    main()
