"""A real nginx as a reverse proxy that buffers nothing, for comparison."""

import os
import shutil
import socket
import subprocess

from ports import free_port
from serve_peer import wait_until

NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_max_body_size {max_body}; large_client_header_buffers 4 2k;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream engine {{ server {engine}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{port}{tls};
    location / {{
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_buffering off; proxy_request_buffering off;
    }}
  }}
}}
"""


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Nginx:
    def __init__(self, folder, engine, max_body, tls=None):
        """`tls`: files of its certificate and key."""
        self.port = free_port()
        config = os.path.join(folder, "nginx.conf")
        files = " ssl; ssl_certificate {}; ssl_certificate_key {}".format(*tls) if tls else ""
        text = CONFIG.format(folder=folder, engine=engine, port=self.port, max_body=max_body,
                             tls=files)  # fmt: skip
        with open(config, "w") as file:
            file.write(text)
        self._process = subprocess.Popen(
            [NGINX, "-p", str(folder), "-c", config, "-e", os.path.join(folder, "early.log")],
            stdin=subprocess.DEVNULL,
        )
        wait_until(lambda: listens(self.port), "nginx listens")

    def close(self):
        self._process.kill()
        self._process.wait()
