"""Runs a command as PID 1 of a PID namespace with a /proc of its own, and ends as it does.

    contain.py DESCRIPTOR COMMAND...      DESCRIPTOR gets the PID of the command, as seen outside

util-linux's unshare cannot be used: that of Debian 12 ends with 1 when its child was killed.
Without root this takes a user namespace as well. It ends with the command's code, with 128+n after
a signal, and with 125 where no namespace can be made. It needs only the standard library.
"""

import contextlib
import ctypes
import os
import signal
import sys

NEWNS, NEWUSER, NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_PRIVATE_REC, MS_NOSUID_NODEV_NOEXEC = 0x44000, 0xE
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def must(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter():
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        with contextlib.suppress(OSError):
            return must(libc.unshare(NEWNS | NEWPID))
    must(libc.unshare(NEWUSER | NEWNS | NEWPID))
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return None


def command(argv):
    must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    must(libc.mount(None, b"/", None, MS_PRIVATE_REC, None))
    must(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV_NOEXEC, None))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, a container does not
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], argv)


def main(reported, argv):
    try:
        must(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))  # the kit was killed, and all ends
        enter()
        child = os.fork()
    except OSError as error:
        print(f"contain: {error}", file=sys.stderr)
        return 125
    if child == 0:
        try:
            os.close(reported)
            command(argv)
        except OSError as error:
            print(f"contain: {argv[0]}: {error}", file=sys.stderr)
        os._exit(125 if not isinstance(sys.exc_info()[1], FileNotFoundError) else 127)
    os.write(reported, b"%d\n" % child)
    os.close(reported)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
