"""What a replay stands on: the same engine behind lastcall's ingress, nginx and HAProxy.

Each proxy has an engine of its own that writes down what reaches it. The proxies have the
configuration that their own manuals begin with, but for the limit of a head (32 kB in all three)
and the buffers, which are off: no proxy's defaults are bent to look worse.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "integration")
sys.path += [os.path.join(TESTS, part) for part in ("serve",)]

import framing  # noqa: E402
from ports import free_port  # noqa: E402
from serve_peer import wait_until  # noqa: E402
from serve_world import SLEEPER, World  # noqa: E402

PATHS = os.environ["PATH"] + ":/usr/sbin"
QUIET = 0.15  # seconds after which nothing more is expected of a connection that stays open
LONGEST = 5.0

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections {connections}; }}
http {{
  access_log off; large_client_header_buffers 4 32k; client_header_buffer_size 32k;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream engine {{ server 127.0.0.1:{engine}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{port}{tls};
    location / {{
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_buffering off; proxy_request_buffering off;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""
HAPROXY = """
global
  nbthread 1
  maxconn {connections}
  tune.bufsize 49152
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
frontend clients
  bind 127.0.0.1:{port}{tls}
  default_backend engine
backend engine
  http-reuse safe
  server engine 127.0.0.1:{engine}
"""


class Engine:
    """Answers each request with 200, but for one with X-Hold, and keeps it as its framing defines
    it.

    It keeps what is none, too: with its fault, and unanswered.
    """

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._seen, self._open = [], []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            file = connection.makefile("rb")
            while (request := framing.read(file)) is not None:
                with self._lock:
                    self._seen.append(request)
                if request.fault:
                    break
                if request.lines("X-Hold"):
                    connection.recv(1)  # until its client has left
                    break
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
                                   + (b"" if request.method == b"HEAD" else b"ok"))  # fmt: skip
        connection.close()

    def take(self):
        with self._lock:
            seen, self._seen = self._seen, []
        return seen

    def close(self):
        self._listener.close()
        for connection in self._open:
            connection.close()


class Answer:
    """What a client has received on one connection."""

    def __init__(self, raw, is_closed):
        self.raw, self.is_closed = raw, is_closed
        self.statuses = list(self._statuses(raw))

    @staticmethod
    def _statuses(raw):
        while raw.startswith(b"HTTP/1."):
            head, found, rest = raw.partition(b"\r\n\r\n")
            if not found:
                return
            status = int(head[9:12])
            yield status
            if status < 200:
                raw = rest
                continue
            length = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            raw = rest[length:]

    def final(self):
        return [status for status in self.statuses if status >= 200]

    def __str__(self):
        if not self.raw:
            return "closed" if self.is_closed else "silent"
        words = " ".join(map(str, self.statuses)) or "other than HTTP/1"
        return words + (" closed" if self.is_closed else "")


def receive(connection, quiet=QUIET):
    """Everything until it is closed, or quiet for so long."""
    raw, end = b"", time.monotonic() + LONGEST
    while time.monotonic() < end:
        connection.settimeout(quiet)
        try:
            data = connection.recv(65536)
        except TimeoutError:
            return Answer(raw, False)
        except OSError:
            return Answer(raw, True)
        if not data:
            return Answer(raw, True)
        raw += data
    return Answer(raw, False)


class Proxy:
    """One of the three, with the engine behind it."""

    def __init__(self, name, pid, port, engine):
        self.name, self.pid, self.port, self.engine = name, pid, port, engine

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), LONGEST)

    def ask(self, data, quiet=QUIET):
        """(Answer, the requests that have reached the engine)."""
        self.engine.take()
        with self.connect() as connection:
            with contextlib.suppress(OSError):  # it may be refused before all of it is there
                connection.sendall(data)
            answer = receive(connection, quiet)
        return answer, self.engine.take()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Stage:
    """All three, started once; `world()` makes a supervisor of a case's own."""

    def __init__(self, connections=4_000):
        self._stack = contextlib.ExitStack()
        self.folder = tempfile.mkdtemp(prefix="replay-")
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.connections = connections

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def subfolder(self):
        return tempfile.mkdtemp(dir=self.folder)

    def _engine(self):
        engine = Engine()
        self._stack.callback(engine.close)
        return engine

    def world(self, kind=World, **config):
        one = kind(self.subfolder(), **config)
        self._stack.callback(one.close)
        return one

    def serving(self, wrapped=(), **config):
        """A supervisor in run mode whose engine only sleeps."""
        one = self.world(**config)
        one.wrapped = wrapped
        one.config["health"]["checks"] = []
        one.process = one.run(*SLEEPER)
        one.wait_for_log('"phase begun","phase":"serving"')
        return one

    def ours(self, **ingress):
        engine = self._engine()
        port = free_port()
        section = {"listen": f"127.0.0.1:{port}", "upstream": f"127.0.0.1:{engine.port}",
                   "max_connections": self.connections, **ingress}  # fmt: skip
        one = self.serving(ingress=section)
        proxy = Proxy("lastcall", one.supervisor_pid(), port, engine)
        proxy.world = one
        return proxy

    def _peer(self, name, text, words, tls):
        program = shutil.which(name, path=PATHS)
        if program is None:
            return None
        engine, port, folder = self._engine(), free_port(), self.subfolder()
        path = os.path.join(folder, "config")
        with open(path, "w") as file:
            file.write(text.format(folder=folder, port=port, engine=engine.port, tls=tls,
                                   connections=self.connections))  # fmt: skip
        words = [word.format(folder=folder, path=path) for word in words]
        process = subprocess.Popen(
            (program, *words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        wait_until(lambda: listens(port), f"{name} listens")
        return Proxy(name, process.pid, port, engine)

    def nginx(self, tls=""):
        words = ("-p", "{folder}", "-c", "{path}", "-e", "{folder}/early.log")
        return self._peer("nginx", NGINX, words, tls)

    def haproxy(self, tls=""):
        return self._peer("haproxy", HAPROXY, ("-db", "-f", "{path}"), tls)

    def all_three(self):
        return [self.ours(), self.nginx(), self.haproxy()]
