"""The log of `run`: text and a drain report to read on a terminal, JSON elsewhere."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest
from ports import free_port
from serve_peer import PATIENCE
from serve_world import LASTCALL, SLEEPER

def stopped(tmp_path, *options, **environment):
    """What `run` prints on a terminal from its start to the end of a stop."""
    ours, theirs = pty.openpty()
    settings = {"probes.listen": f"127.0.0.1:{free_port()}", "shutdown.drain_unknown": "0s",
                "ipc.socket": f"{tmp_path}/e.sock",
                "ipc.admin_socket": f"{tmp_path}/a.sock"}  # fmt: skip
    words = [*(word for item in settings.items() for word in ("--set", "=".join(item))), *options]
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen([LASTCALL, "run", *words, "--", *SLEEPER], stdin=subprocess.DEVNULL,
                               stdout=theirs, stderr=theirs, start_new_session=True,
                               env={**clean, **environment})  # fmt: skip
    os.close(theirs)
    seen, deadline, asked = bytearray(), time.monotonic() + 2 * PATIENCE, False
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while select.select([ours], [], [], deadline - time.monotonic())[0]:
            seen.extend(os.read(ours, 65536))
            if not asked and b"serving" in seen:
                process.send_signal(signal.SIGTERM)
                asked = True
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0, bytes(seen)
    return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns, term", [(40, "xterm"), (80, "dumb"), (140, "xterm")])
def test_a_terminal_gets_text_and_a_report_to_read(tmp_path, columns, term):
    text = stopped(tmp_path, COLUMNS=str(columns), TERM=term)
    assert "\x1b" not in text and '{"' not in text
    rows = text.partition("  report:\n")[2].splitlines()
    rows = [row for row in rows if row.startswith("    ")]
    assert [row[4:16].strip() for row in rows if row[4:16].strip()] == [
        "stop", "phases", "time left", "requests", "engine", "cleanup",
    ]  # fmt: skip
    assert all(len(row) <= columns for row in rows)
    words = " ".join(" ".join(rows).split())
    assert words.startswith("stop graceful, cause signal (TERM), exit code 0 phases ")


def test_a_terminal_gets_json_where_it_is_asked_for(tmp_path):
    text = stopped(tmp_path, "--set", "log.format=json")
    [line] = [line for line in text.splitlines() if '"drain report"' in line]
    report = json.loads(line)["report"]
    assert report["exit_code"] == 0
