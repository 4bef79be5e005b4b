"""A Service's address, translated by iptables as kube-proxy does it, in a network of our own."""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess

CLONE_NEWNET = 0x40000000
ADDRESS, PORT = "10.96.0.10", 80
PATIENCE = 60
_libc = ctypes.CDLL(None, use_errno=True)


def _call(*words, **options):
    subprocess.run(words, check=True, capture_output=True, text=True, **options)


@contextlib.contextmanager
def own_network():
    """For this thread, and for what it starts from here on. OSError: it may not have one."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if _libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no network of our own")
        try:
            yield
        finally:
            if _libc.setns(before, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "cannot go back")
    finally:
        os.close(before)


class ServiceAddress:
    """`own_network()` around it. Connections that are established keep their replica."""

    def __init__(self):
        self._ready = None
        _call("ip", "link", "set", "lo", "up")
        _call("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
        self.set_ready([])

    def set_ready(self, ports):
        """All rules at once, so that no connection is made between two of them."""
        if ports == self._ready:
            return
        self._ready = list(ports)
        service = f"-d {ADDRESS}/32 -p tcp --dport {PORT}"
        rules = [f"-A OUTPUT {service} -j SERVICE"]
        for left, port in zip(range(len(ports), 0, -1), ports, strict=True):
            chance = f"-m statistic --mode random --probability {1 / left:.9f}" if left > 1 else ""
            rules.append(f"-A SERVICE -p tcp {chance} -j DNAT --to-destination 127.0.0.1:{port}")
        lines = ["*nat", ":OUTPUT ACCEPT [0:0]", ":SERVICE - [0:0]", *rules, "COMMIT", ""]
        _call("iptables-restore", input="\n".join(lines))

    def connect(self):
        return socket.create_connection((ADDRESS, PORT), timeout=PATIENCE)


def why_not():
    """Empty: there can be such an address here."""
    if not (shutil.which("iptables-restore") and shutil.which("ip")):
        return "iptables or ip is not installed"
    try:
        with own_network():
            ServiceAddress()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network of our own: {getattr(error, 'stderr', None) or error}"
    return ""
