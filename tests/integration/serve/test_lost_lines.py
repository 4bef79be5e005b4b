"""Lines that the system does not send: the peer sees an end and reports everything again."""

from serve_peer import PATIENCE, wait_until
from serve_world import DENY_SYSCALLS


def test_a_line_that_the_system_does_not_send_ends_the_connection(world):
    one = world()
    one.wrapped = (DENY_SYSCALLS, "ENOBUFS")
    one.serve()
    wait_until(lambda: one.get("/livez")[0] == 200, "it lives")
    peer = one.peer()
    peer.send("endpoint.register", seq=1, endpoint="generate")
    assert peer.closed(), f"it is not closed within {PATIENCE} s"
    one.wait_for_log("cannot write: No buffer space available")
