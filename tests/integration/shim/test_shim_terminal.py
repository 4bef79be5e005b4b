"""With --tty: the terminal is lent to the command, and a reader after the shim can use it."""

import os
import pty
import select
import subprocess

import pytest
from shim_process import SHIM, eventually

# What the command of a script leaves as the terminal's foreground: its own group, nothing but a
# status, the group of one of its jobs.
COMMANDS = {
    "ends": ("true", 0),
    "killed": ("sh -c 'kill -9 $$'", 137),
    "killed-with-a-job": ("bash --norc -mc '(kill -9 $$; exec sleep 100)'", 137),
}


@pytest.fixture
def shell(tmp_path):
    """An interactive shell on a terminal of its own: its terminal, and all that was seen there."""
    master, slave = pty.openpty()

    def own_terminal():
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))

    process = subprocess.Popen(["bash", "--norc", "-im"], stdin=slave, stdout=slave, stderr=slave,
                               cwd=tmp_path, preexec_fn=own_terminal)  # fmt: skip
    os.close(slave)
    yield Terminal(master)
    process.kill()
    process.wait()
    os.close(master)


class Terminal:
    def __init__(self, master):
        self.master = master
        self.seen = b""

    def write(self, text):
        os.write(self.master, text)

    def awaits(self, text):
        def arrived():
            if select.select([self.master], [], [], 0)[0]:
                self.seen += os.read(self.master, 4096)
            return text in self.seen

        eventually(arrived, f"{text!r} on the terminal, have {self.seen!r}")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_script_reads_the_terminal_that_the_command_had_before(shell, tmp_path, name):
    command, code = COMMANDS[name]
    (tmp_path / "script").write_text(
        f'{SHIM} --tty -- {command}\necho "ended: $?"\nread answer\necho "got: $answer"\n'
    )
    shell.write(b"sh script\n")
    shell.awaits(b"ended: %d" % code)
    shell.write(b"hello\n")
    shell.awaits(b"got: hello")
