"""What the operator's subcommands print as JSON is what docs/cli.md says, key by key."""

import json
import os
import re
import signal
import subprocess

from serve_peer import PATIENCE, wait_until
from serve_world import LASTCALL

CLI_PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/cli.md")
IN_A_STOP = {"cause", "cause_detail", "mode", "deadline_at_ms", "deadline_left_ms", "cut_left_ms"}


def documented(command):
    """The keys of the object, without those of the objects in it."""
    with open(CLI_PAGE, encoding="utf-8") as file:
        page = file.read().split("## Output as JSON", 1)[1].split("\n## ", 1)[0]
    [cell] = [
        row.split("|")[2]
        for row in page.splitlines()
        if row.startswith("|") and f"`{command}`" in row.split("|")[1]
    ]
    outside = re.sub(r"\([^()]*\)", "", cell.split(". With", 1)[0])
    keys = set(re.findall(r"`(\w+)`", outside.split(";", 1)[0]))
    return keys | (IN_A_STOP if command == "status" else set())


def ask(one, *words, code=0):
    done = subprocess.run(
        [LASTCALL, *words, "--admin-socket", one.admin_socket, "-o", "json"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, ""), words
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_status_has_its_keys_while_serving_and_in_a_stop(served):
    [status] = ask(served, "status")
    assert set(status) == documented("status") - IN_A_STOP
    assert set(status["in_flight"]) == {
        "requests", "source", "late", "oldest_ms", "unconfirmed_cancels",
    }  # fmt: skip
    peer = served.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    served.process.send_signal(signal.SIGTERM)
    peer.expect("phase", phase="draining")
    [status] = ask(served, "status")
    assert set(status) == documented("status")


def test_requests_are_an_object_each(served):
    peer = served.peer()
    assert ask(served, "requests") == []
    for name in ("a", "b"):
        peer.ask("request.begin", id=name, endpoint="generate")
    rows = ask(served, "requests")
    assert [row["id"] for row in rows] == ["a", "b"]
    assert set(rows[0]) == documented("requests") - {"reason"}
    assert set(ask(served, "cancel", "a")[0]) == documented("cancel")
    wait_until(lambda: "reason" in ask(served, "requests")[0], "the reason of the cancel")
    assert set(ask(served, "requests")[0]) == documented("requests")


def test_drain_resume_and_cancel_report_whether_anything_changed(served):
    for words, code, changed in (
        (("resume",), 0, False),
        (("cancel", "nobody"), 1, False),
        (("drain",), 0, True),
        (("drain",), 0, False),
        (("resume",), 0, True),
    ):
        [answer] = ask(served, *words, code=code)
        assert set(answer) == documented(words[0]) == {"changed", "phase"}
        assert answer["changed"] is changed, words


def test_wait_ready_and_reload_have_their_keys(served):
    assert ask(served, "wait-ready") == [{"ready": True}]
    [answer] = ask(served, "admission", "--queue-limit", "3")
    keys = documented("admission") - {"admission", "status"}
    assert set(answer) == keys and answer == ask(served, "status")[0]["admission"]
    [answer] = ask(served, "reload")
    assert set(answer) == documented("reload")
