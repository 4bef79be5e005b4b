#!/usr/bin/env python3
"""Names of Services for the pods of one_node.sh: node_dns.py ADDRESS KUBECTL KUBECONFIG

Answers A questions for SERVICE.NAMESPACE.svc.cluster.local with the Service's address, or of a
headless one with those of its ready pods; any other name does not exist. UDP, one at a time.
"""

import json
import socket
import struct
import subprocess
import sys

DOMAIN = "svc.cluster.local"


def ask(kubectl, *words):
    done = subprocess.run([*kubectl, "get", *words, "-o", "json"], capture_output=True, text=True,
                          check=False, timeout=10)  # fmt: skip
    return json.loads(done.stdout) if done.returncode == 0 else {}


def addresses(kubectl, name):
    """None: there is no such name."""
    labels = name.removesuffix(f".{DOMAIN}").split(".")
    if not name.endswith(f".{DOMAIN}") or len(labels) != 2:
        return None
    service, namespace = labels
    found = ask(kubectl, "service", service, "-n", namespace)
    if not found:
        return None
    if found["spec"].get("clusterIP") not in (None, "None"):
        return [found["spec"]["clusterIP"]]
    selector = f"kubernetes.io/service-name={service}"
    slices = ask(kubectl, "endpointslices", "-n", namespace, "-l", selector).get("items", [])
    endpoints = [endpoint for each in slices for endpoint in each["endpoints"] or []]
    return [address for endpoint in endpoints if endpoint["conditions"].get("ready")
            for address in endpoint["addresses"]]  # fmt: skip


def answer(question, kubectl):
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    kind = struct.unpack_from("!H", question, at + 1)[0]
    found = addresses(kubectl, ".".join(labels))
    given = found if found and kind == 1 else []
    flags = 0x8400 if found is not None else 0x8403
    head = question[:2] + struct.pack("!HHHHH", flags, 1, len(given), 0, 0)
    records = [struct.pack("!HHHIH", 0xC00C, 1, 1, 1, 4) + socket.inet_aton(ip) for ip in given]
    return head + question[12 : at + 5] + b"".join(records)


def main():
    own, program, config = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind((own, 53))
        while True:
            question, asker = port.recvfrom(512)
            port.sendto(answer(question, [program, "--kubeconfig", config]), asker)


if __name__ == "__main__":
    main()
