"""A small HTTP server that records what it is asked, and answers as a test wants."""

import contextlib
import http.server
import threading
import time


class HttpService:
    def __init__(self, tls=None):
        self.requests = []  # (path, headers, body)
        self.statuses = []  # of the next answers; then 200
        self.retry_after = None  # of answers that are not 200
        self.times = []  # of the requests
        self.body = b""  # of all answers
        self.hang = threading.Event()
        self.hang.set()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.times.append(time.monotonic())
                service.requests.append((self.path, dict(self.headers), body.decode()))
                service.hang.wait(60)
                status = service.statuses.pop(0) if service.statuses else 200
                self.send_response(status)
                if status != 200 and service.retry_after is not None:
                    self.send_header("Retry-After", str(service.retry_after))
                self.send_header("Content-Length", str(len(service.body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(service.body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self.hang.set()
        self._server.shutdown()
        self._server.server_close()
