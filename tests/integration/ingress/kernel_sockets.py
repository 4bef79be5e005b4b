"""What the kernel reports about the connections of the ingress."""


def socket_of(one, user):
    """The columns of this client's connection in /proc/net/tcp, at the ingress's end: proc(5).

    Nothing when it is gone. A table that changes while it is read may hold a row twice.
    """
    ends = [f"0100007F:{port:04X}" for port in (one.ingress_port, user.socket.getsockname()[1])]
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return next((row for row in rows if row[1:3] == ends), None)
