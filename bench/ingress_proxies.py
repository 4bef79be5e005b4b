"""The proxies that are compared, each with as many threads before the same small engine.

nginx is the engine too: it answers faster than any of them relays. HAProxy gets `http-no-delay`, as
in front of any engine that streams: it would keep events back, for up to 200 ms, to send several at
once.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import PATIENCE, await_that, need, output
from figures import NotMeasured
from local_ports import free_port, listens

HEAD = """\
daemon off; {workers}; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000000; large_client_header_buffers 4 64k;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
"""
ENGINE = HEAD + """\
  server {{ listen 127.0.0.1:{port};
    location / {{ return 200 '{{"object":"chat.completion","choices":[]}}'; }} }}
}}
"""
NGINX = HEAD + """\
  upstream engine {{
    server 127.0.0.1:{engine}; keepalive 1024; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{port}{nginx_tls};
    location / {{
      proxy_pass http://engine; proxy_http_version 1.1; proxy_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Request-Id $request_id; }} }}
}}
"""
HAPROXY = """\
global
  nbthread {threads}
  maxconn 4000
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  option forwardfor
  option abortonclose
  option http-no-delay
frontend clients
  bind 127.0.0.1:{port}{haproxy_tls}
  default_backend engine
backend engine
  http-reuse always
  server engine 127.0.0.1:{engine}
"""
LASTCALL = """\
probes: {{listen: "127.0.0.1:0"}}
health: {{checks: []}}
ipc: {{socket: "{folder}/i/l.sock", admin_socket: "{folder}/a/a.sock"}}
ingress:
  {{listen: "127.0.0.1:{port}", upstream: "127.0.0.1:{engine}", threads: {threads}{lastcall_tls}}}
"""


ONE_WORKER = "master_process off"


def start(bench, program, text, words, cores=None, **values):
    """(process, port) of what listens on a port of its own; on these cores."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/bin") or program
    if not Path(path).exists():
        raise NotMeasured(f"{program} is not installed")
    folder, port = tempfile.mkdtemp(dir=bench.scratch), free_port()
    config = Path(folder, "config.yaml")
    config.write_text(text.format(folder=folder, port=port, **values))
    words = [word.format(folder=folder, config=config, port=port) for word in words]
    if cores is not None:
        listed = ",".join(map(str, cores))
        words, path = ["-c", listed, path, *words], need("taskset")
    process = subprocess.Popen([path, *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    await_that(lambda: listens(port), f"{program} listens")
    return process, port


NGINX_WORDS = ("-p", "{folder}", "-c", "{config}", "-e", "{folder}/early.log")


@contextlib.contextmanager
def _serving(bench, program, text, words):
    process, port = start(bench, program, text, words, workers=ONE_WORKER)
    try:
        yield port
    finally:
        process.kill()
        process.wait(PATIENCE)


def engine(bench):
    return _serving(bench, "nginx", ENGINE, NGINX_WORDS)


def streaming_engine(bench):
    program = str(Path(__file__).parent / "programs/ingress_engine.py")
    return _serving(bench, sys.executable, "", (program, "{port}"))


def certificate(bench):
    """Certificate and key in one file, of today's usual kind."""
    key, path = bench.scratch / "key.pem", bench.scratch / "cert.pem"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    output(["openssl", "req", *kind, "-subj", "/CN=localhost", "-keyout", str(key),
            "-out", str(path)])  # fmt: skip
    path.write_text(path.read_text() + key.read_text())
    return path


def _listening_with(pem):
    """The configuration by which each listener speaks TLS, or nothing."""
    words = {
        "nginx_tls": " ssl; ssl_certificate {0}; ssl_certificate_key {0}",
        "haproxy_tls": " ssl crt {0}",
        "lastcall_tls": ", tls: {{cert_file: {0}, key_file: {0}}}",
    }
    return {name: text.format(pem) if pem else "" for name, text in words.items()}


def relay(bench, engine_port):
    """A relay that does nothing but move bytes: what no proxy can go below."""
    return _serving(bench, str(bench.relay), "", ("{port}", str(engine_port)))


@contextlib.contextmanager
def proxies(bench, engine_port, cores=None, pem=None):
    """{name: (pid, port)}, all of them on these cores; with a certificate they speak TLS."""
    started, threads = {}, bench.threads
    workers = ONE_WORKER if threads == 1 else f"worker_processes {threads}"
    with contextlib.ExitStack() as stack:
        serve = LASTCALL, ("serve", "--config", "{config}")
        before = [("before", bench.before, *serve)] if bench.before else []
        for name, program, text, words in (
            ("lastcall", bench.lastcall, *serve),
            *before,
            ("nginx", "nginx", NGINX, NGINX_WORDS),
            ("haproxy", "haproxy", HAPROXY, ("-db", "-f", "{config}")),
        ):
            process, port = start(bench, program, text, words, cores,
                                   engine=engine_port, threads=threads, workers=workers,
                                   **_listening_with(pem))  # fmt: skip
            stack.callback(process.wait, PATIENCE)
            # A killed nginx would leave its workers running.
            stack.callback(process.terminate if name == "nginx" else process.kill)
            started[name] = (process.pid, port)
        yield started
