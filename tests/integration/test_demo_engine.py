"""The example server against a scripted supervisor, and what demo.py reads in logs and streams."""

import html
import http.client
import json
import os
import re
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEMO = os.path.join(ROOT, "examples", "demo_engine")
IMAGES = os.path.join(ROOT, "docs", "images")
sys.path += [os.path.join(ROOT, "sdk", "python", "tests"), DEMO, IMAGES]

import demo  # noqa: E402
import record  # noqa: E402
from strict_supervisor import FakeSupervisor  # noqa: E402


@pytest.fixture
def supervisor(tmp_path):
    with FakeSupervisor(str(tmp_path / "s")) as fake:
        yield fake
    assert fake.violations == []


@pytest.fixture
def engine(supervisor):
    process = subprocess.Popen(
        [sys.executable, os.path.join(DEMO, "demo_engine.py"), "--port", "0", "--rate", "200"],
        env={**os.environ, "LASTCALL_SOCKET": supervisor.path}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.port = int(re.search(r":(\d+)$", process.stderr.readline().strip())[1])
    yield process
    process.kill()
    process.wait()
    process.stderr.close()


def test_a_line_of_its_log_is_one_write(supervisor):
    """The supervisor writes to the same descriptor: what comes in two writes may be torn."""
    read_end, write_end = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)  # a read returns one write, pipe(2)
    engine = subprocess.Popen(
        [sys.executable, os.path.join(DEMO, "demo_engine.py"), "--port", "0"],
        env={**os.environ, "LASTCALL_SOCKET": supervisor.path}, stderr=write_end,
    )  # fmt: skip
    os.close(write_end)
    try:
        assert re.fullmatch(rb"demo-engine: listening on .*:\d+\n", os.read(read_end, 4096))
    finally:
        engine.kill()
        engine.wait()
        os.close(read_end)


def start_stream(engine, path, tokens, request_id):
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=20)
    body = json.dumps({"max_tokens": tokens})
    connection.request("POST", path, body, {"X-Request-Id": request_id})
    return connection.getresponse()


def read_stream(answer):
    reader, cut = demo.StreamReader(), False
    try:
        while data := answer.read1(65536):
            reader.feed(data)
    except http.client.IncompleteRead:
        cut = True
    return reader, cut


def test_it_reports_which_endpoints_hold_a_drain(supervisor, engine):
    supervisor.wait("endpoint.register", endpoint="chat_completions", graceful_shutdown=True)
    supervisor.wait("endpoint.register", endpoint="completions", graceful_shutdown=False)
    supervisor.send("health.check")
    assert supervisor.wait("health")["status"] == "healthy"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_whole_stream_is_reported_from_its_beginning_to_its_end(supervisor, engine, path):
    supervisor.wait("hello")
    reader, cut = read_stream(start_stream(engine, path, 7, "whole"))
    assert (reader.tokens, reader.done, cut) == (7, True, False)
    assert reader.verdict(cut) == (True, "completed, 7 tokens")
    supervisor.wait("request.begin", id="whole")
    assert supervisor.wait("request.end", id="whole")["outcome"] == "completed"


def test_a_cancelled_stream_is_visibly_handed_off(supervisor, engine):
    supervisor.wait("hello")
    answer = start_stream(engine, "/v1/completions", 100_000, "cut")
    answer.readline()
    supervisor.wait("request.begin", id="cut")
    supervisor.cancel("cut", mode="stop", reason="grace_timeout")
    reader, cut = read_stream(answer)
    is_fine, words = reader.verdict(cut)
    assert is_fine and "handed off" in words
    assert reader.error["request_id"] == "cut" and reader.error["retryable"] is True
    assert supervisor.wait("request.end", id="cut")["outcome"] == "migrated"


def test_a_client_that_leaves_stops_its_request(supervisor, engine):
    supervisor.wait("hello")
    answer = start_stream(engine, "/v1/completions", 100_000, "left")
    answer.readline()
    answer.close()
    supervisor.wait("cancel", reason="client_disconnect")
    assert supervisor.wait("request.end", id="left")["outcome"] == "cancelled"


def test_a_term_lets_streams_finish(supervisor, engine):
    answer = start_stream(engine, "/v1/completions", 100, "last")
    answer.readline()
    engine.send_signal(signal.SIGTERM)
    reader, cut = read_stream(answer)
    assert reader.done and not cut
    assert engine.wait(20) == 0


@pytest.mark.parametrize(
    "data, cut, fine",
    [
        (b'data: {"choices":[{"finish_reason":null}]}\n\n', True, False),
        (b"data: [DONE]\n\n", True, False),
        (b"", False, False),
        (b'event: error\ndata: {"error":{"type":"engine_dead"}}\n\n', True, False),
        # An error event with a proper end looks finished to a careless client.
        (b'event: error\ndata: {"error":{"type":"migrated"}}\n\n', False, False),
        (b'event: error\r\ndata: {"error":{"type":"migrated"}}\r\n\r\n', True, True),
    ],
)
def test_only_a_visible_end_is_a_fine_one(data, cut, fine):
    reader = demo.StreamReader()
    for number in range(len(data)):
        reader.feed(data[number : number + 1])
    assert reader.verdict(cut)[0] is fine


def test_only_a_refusal_that_can_be_retried_is_a_fine_one():
    body = {"error": {"type": "draining", "retryable": True}}
    assert demo.refusal(503, json.dumps(body))[0] is True
    assert demo.refusal(500, json.dumps(body))[0] is False
    assert demo.refusal(503, b"")[0] is False
    body["error"]["retryable"] = False
    assert demo.refusal(503, json.dumps(body))[0] is False


def test_a_request_that_is_not_admitted_is_refused_with_the_typed_error(supervisor, engine):
    supervisor.wait("hello")
    supervisor.admit = False
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=20)
    connection.request("POST", "/v1/chat/completions", "{}", {"X-Request-Id": "late"})
    supervisor.wait("request.begin", id="late", admit=True)
    supervisor.send("rejected", id="late", reason="draining")
    answer = connection.getresponse()
    assert demo.refusal(answer.status, answer.read()) == (
        True, "refused with 503 (draining, retryable)",
    )  # fmt: skip


def test_the_drain_report_is_found_wherever_a_log_line_has_it():
    report = {"cause": "signal", "mode": "graceful", "exit_code": 0}
    for entry in (report, {"message": "report", "report": report}, {"message": json.dumps(report)}):
        assert demo.report_of(demo.parse_log(json.dumps(entry))) == report
    assert demo.report_of(demo.parse_log("plain text")) is None
    assert demo.report_of(demo.parse_log('{"cause":"signal"}')) is None


def test_log_lines_about_the_stop_are_shown_and_others_are_not():
    shown = {"level": "info", "message": "phase began", "phase": "draining", "in_flight": 4}
    assert demo.describe_log(shown) == "phase began phase=draining in_flight=4"
    assert demo.describe_log(demo.parse_log("Active graceful endpoints: 2")) is not None
    assert demo.describe_log({"level": "error", "message": "cannot bind"}) == "cannot bind"
    assert demo.describe_log({"level": "info", "message": "listening"}) is None


def test_a_lost_stream_or_a_bad_exit_code_is_not_clean(tmp_path, capsys):
    (tmp_path / "registry").mkdir()
    fine = dict.fromkeys(demo.numbers(), True)
    entries = [{"cause": "signal", "exit_code": 0}]
    assert demo.conclude(0, entries, fine, tmp_path) == 0
    assert demo.conclude(137, entries, fine, tmp_path) == 1
    assert demo.conclude(0, entries, {**fine, 2: False}, tmp_path) == 1
    assert demo.conclude(0, [], fine, tmp_path) == 1
    (tmp_path / "registry" / "left.json").write_text("{}")
    assert demo.conclude(0, entries, fine, tmp_path) == 1
    assert "still registered" in capsys.readouterr().out


def test_the_private_config_touches_nothing_that_is_shared(tmp_path):
    text = demo.private_config(tmp_path, 1234, 5678).read_text()
    assert "/tmp/lastcall-demo/" not in text
    assert ":8000" not in text and ":7090" not in text
    assert "127.0.0.1:1234/health" in text and "127.0.0.1:5678" in text


def kinds(lines):
    """Without times, ports and identities, without what is beyond the picture's edge, and without
    what only a busy machine shows: slow steps, and an engine that is healthy before its SDK has
    connected, so that its requests are still unknown."""
    return {
        re.sub(r"[0-9a-f]{8,}|\d+(\.\d+)?|(?<=in_flight=)unknown", "N", line)[:60].rstrip()
        for line in lines
        if "a step of the loop was slow" not in line
    }


@pytest.mark.plain_build  # it shows times, which a sanitizer makes longer
def test_the_recording_in_the_readme_is_what_the_demonstration_prints_today():
    build = os.path.join(ROOT, os.environ.get("LASTCALL_BUILD_DIR", "build/dev"))
    said = kinds(line for _, line in record.play(os.path.join(build, "supervisor/cli/lastcall")))
    with open(os.path.join(IMAGES, "stop.svg"), encoding="utf-8") as file:
        shown = kinds(" ".join(rows) for rows in rows_by_line(file.read()))
    assert shown == said, "./dev record"


def rows_by_line(picture):
    """[[row, ...], ...]: what each line became."""
    return [[html.unescape(row) for row in re.findall(r"<text[^>]*>(.*?)</text>", group)]
            for group in re.findall(r"<g .*?</g>", picture)]  # fmt: skip


def test_a_line_of_the_recording_that_is_too_long_goes_on_in_the_next_row():
    long = "   +0.53 s  lastcall  phase ended phase=draining" + " left_ms=7495" * 9
    lines = [(0.0, "   +0.00 s  demo      SIGTERM to lastcall"), (0.1, long), (0.2, "clean: 1 & 2")]
    picture = record.picture(lines)
    shown = rows_by_line(picture)
    assert [" ".join(rows).split() for rows in shown] == [line.split() for _, line in lines]
    assert len(shown[1]) == 2 and shown[1][1].startswith(" " * record.INDENT + "left_ms")
    assert max(len(row) for rows in shown for row in rows) <= record.COLUMNS
    heights = [int(y) for y in re.findall(r'<text[^>]* y="(\d+)"', picture)]
    assert heights == sorted(set(heights)) and heights[-1] < int(
        re.search(r'viewBox="0 0 \d+ (\d+)"', picture)[1])  # fmt: skip
