"""A real HAProxy with the configuration that docs/ingress.md recommends, before any servers."""

import csv
import os
import re
import shutil
import subprocess

from ports import free_port
from serve_peer import wait_until

HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/ingress.md")


def documented(port, servers):
    """The page's configuration with these addresses: servers are (address, port of probes)."""
    with open(PAGE, encoding="utf-8") as file:
        [text] = re.findall(r"```haproxy\n(.*?)```", file.read(), re.DOTALL)
    line = re.compile(r"^  server \S+ \S+ check port \d+$", re.MULTILINE)
    assert len(line.findall(text)) == 3, "docs/ingress.md: expected three lines of 'server'"
    lines = [f"  server s{number} {address} check port {probes}"
             for number, (address, probes) in enumerate(servers)]  # fmt: skip
    text = line.sub("", text).rstrip() + "\n" + "\n".join(lines) + "\n"
    assert text.count("bind :80") == 1
    return text.replace("bind :80", f"bind 127.0.0.1:{port}")


class HAProxy:
    """`statistics()` has a row a server, as its page of statistics."""

    def __init__(self, folder, servers):
        self.port = free_port()
        self._socket = os.path.join(folder, "stats.sock")
        config = os.path.join(folder, "haproxy.cfg")
        with open(config, "w") as file:
            file.write(f"global\n  stats socket {self._socket}\n  nbthread 1\n")
            file.write(documented(self.port, servers))
        self._log = open(os.path.join(folder, "haproxy.log"), "wb")  # noqa: SIM115
        self._process = subprocess.Popen(
            (HAPROXY, "-db", "-f", config),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        # It has the socket a moment before it listens there, and answers in part before it runs.
        wait_until(lambda: len(self.statistics()) == len(servers), "HAProxy runs")

    def statistics(self):
        shown = subprocess.run(("socat", "-", self._socket), input=b"show stat\n",
                               capture_output=True)  # fmt: skip
        rows = csv.DictReader(shown.stdout.decode().removeprefix("# ").splitlines())
        return {row["svname"]: row for row in rows if (row.get("svname") or "").startswith("s")}

    def is_up(self, name):
        row = self.statistics().get(name) or {}  # none in an answer that came in part
        return (row.get("status") or "").startswith("UP")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
