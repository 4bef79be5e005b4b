"""What operators see of the requests that are relayed, by however many threads."""

import subprocess

from raw_engine import chunk, client, post, stream
from serve_world import LASTCALL

THREADS = (1, 3)


def test_requests_show_their_client_and_what_it_has_received(proxy, engine):
    one = proxy()
    user, _ = stream(one, engine)
    waits = client(one)
    waits.send(post("/v1/completions", b'{"model":"m"}'))
    engine.request()
    rows = {row["endpoint"]: row for row in one.operator().ask("requests")["requests"]}
    streams, silent = rows["chat_completions"], rows["completions"]
    assert streams["client"] == silent["client"] == "127.0.0.1"
    assert (streams["events_sent"], streams["bytes_sent"]) == (1, len("data: 1\n\n"))
    assert silent["bytes_sent"] == 0 and "events_sent" not in silent
    text = subprocess.run([LASTCALL, "requests", "--admin-socket", one.admin_socket],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    [row] = [row.split() for row in text.splitlines() if "chat_completions" in row]
    assert row[1] == "127.0.0.1" and row[-4:-2] == ["~1", "9"]
    user.close()


def test_tokens_are_those_that_the_engine_reports(proxy, engine):
    one = proxy()
    user, answering = stream(one, engine)
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":41}}\n\n'
    answering.send(chunk(usage))
    user.until(b"41}}\n\n")
    [row] = one.operator().ask("requests")["requests"]
    assert (row["events_sent"], row["tokens"]) == (2, 41)
    text = subprocess.run([LASTCALL, "requests", "--admin-socket", one.admin_socket],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert text.splitlines()[1].split()[-4] == "41"
    user.close()


def test_a_request_that_its_engine_announces_as_well_is_shown_once_by_endpoint(proxy, engine):
    one = proxy()
    user, _ = stream(one, engine)
    sdk = one.peer()
    [row] = one.operator().ask("requests")["requests"]
    sdk.ask("request.begin", id=row["id"], endpoint="chat_completions")
    status = one.operator().ask("status")
    assert sum(each["in_flight"] for each in status["endpoints"]) == 2  # one of each peer
    text = subprocess.run([LASTCALL, "status", "--admin-socket", one.admin_socket],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "chat_completions: 1," in text
    user.close()
