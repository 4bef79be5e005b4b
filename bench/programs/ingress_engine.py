#!/usr/bin/env python3
"""An engine that streams a chat: ingress_engine.py PORT

A request's JSON has `events`, and `together`: as many requests as this are answered at once, event
by event, when the last of them has come. Each event has its number. A probe gets 200.
"""

import json
import select
import socket
import sys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


CHUNK = (
    b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{%b},"finish_reason":%b}]}'
)
LOOKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def event(data):
    return b"%x\r\ndata: %b\n\n\r\n" % (len(data) + 8, data)


def word(number):
    return event(CHUNK % (b'"content":"%08d %b"' % (number, b"x" * 50), b"null"))


END = event(CHUNK % (b"", b'"stop"')) + event(b"[DONE]") + b"0\r\n\r\n"


def answer(connections, events):
    for connection in connections:
        connection.sendall(HEAD)
    for number in range(events):
        data = word(number)
        for connection in connections:
            connection.sendall(data)
    for connection in connections:
        connection.sendall(END)


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
            if head.startswith(b"GET ") and asked[fd].endswith(b"\r\n\r\n"):
                connections[fd].sendall(LOOKED)
                asked[fd] = b""
                continue
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
