"""A real HAProxy with the configuration that docs/ingress.md recommends, before any servers."""

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
        # It has the socket a moment before it listens there.
        wait_until(lambda: self._ask("show stat").returncode == 0, "HAProxy runs")

    def _ask(self, what):
        return subprocess.run(("socat", "-", self._socket), input=f"{what}\n", text=True,
                              capture_output=True)  # fmt: skip

    def statistics(self):
        shown = self._ask("show stat")
        shown.check_returncode()
        head, *rows = shown.stdout.lstrip("# ").strip().splitlines()
        names = head.split(",")
        found = [dict(zip(names, row.split(","), strict=True)) for row in rows]
        return {row["svname"]: row for row in found if row["svname"].startswith("s")}

    def is_up(self, name):
        return self.statistics()[name]["status"].startswith("UP")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
