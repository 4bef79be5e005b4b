"""A TCP proxy that can be slow, or cut off."""

import contextlib
import select
import socket
import threading
import time


class TcpProxy:
    """Passes bytes on to `port`; `delay` is that of each piece towards the server."""

    def __init__(self, port):
        self.target, self.delay = port, 0.0
        self.connections = self.requests = 0
        self._pairs = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near):
        with contextlib.suppress(OSError), near, socket.create_connection(
            ("127.0.0.1", self.target), timeout=20
        ) as far:
            self._pairs.append((near, far))
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is near:
                        self.requests += data.count(b" HTTP/1.1\r\n")
                        time.sleep(self.delay)
                    (far if ready is near else near).sendall(data)

    def cut(self):
        """Ends what is connected; new connections are taken."""
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
