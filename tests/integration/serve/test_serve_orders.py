"""Drain and resume over HTTP, with a token in a file: which callers may, what is answered, what is
recorded."""

import http.client
import json
import os

import pytest
from serve_peer import PATIENCE, PeerError, wait_until
from serve_world import SLEEPER

TOKEN = "a-token"


@pytest.fixture
def served(world, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    one = world(probes={"orders_token_file": str(file)})
    one.token_file = file
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    return one


def call(world, verb, method="POST", token=TOKEN):
    connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=PATIENCE)
    try:
        headers = {"X-Lastcall-Token": token} if token else {}
        connection.request(method, f"/lifecycle/{verb}", headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def status(world):
    return call(world, "status", "GET")[1]


def orders(world):
    return [line for line in world.records() if line["msg"] == "operator's order"]


def test_a_pod_is_safe_to_delete_when_its_requests_have_ended(served):
    peer = served.peer()
    peer.ask("endpoint.register", endpoint="generate")
    peer.ask("request.begin", id="r", endpoint="generate")
    assert status(served) == {"phase": "serving", "in_flight": 1, "safe_to_delete": False}
    code, begun = call(served, "drain")
    assert (code, begun["changed"], begun["safe_to_delete"]) == (200, True, False)
    served.wait_for_phase("draining")
    assert status(served) == {"phase": "draining", "in_flight": 1, "safe_to_delete": False}
    assert call(served, "drain")[1]["changed"] is False
    peer.send("request.end", id="r", outcome="completed")
    served.wait_for_phase("drained")
    assert status(served) == {"phase": "drained", "in_flight": 0, "safe_to_delete": True}
    code, undone = call(served, "resume")
    assert (code, undone["changed"], undone["safe_to_delete"]) == (200, True, False)
    served.wait_for_phase("serving")
    assert call(served, "resume")[1]["changed"] is False


def test_it_is_not_safe_to_delete_while_nobody_knows_what_is_in_flight(world, tmp_path):
    """Ignorance is never success: an engine whose requests are not counted."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    one = world(probes={"orders_token_file": str(file)}, shutdown={"drain_unknown": "0s"})
    one.run(*SLEEPER)
    one.wait_for_log('"phase begun","phase":"serving"')
    call(one, "drain")
    one.wait_for_phase("drained")
    assert status(one) == {"phase": "drained", "in_flight": None, "safe_to_delete": False}


def test_each_order_leaves_a_record_with_its_caller(served):
    call(served, "drain")
    call(served, "drain")
    call(served, "drain", token="wrong")
    status(served)
    wait_until(lambda: len(orders(served)) > 1, "both have left their record")
    assert [(each["command"], each["effect"], each["from"]) for each in orders(served)] == [
        ("drain", "done", "127.0.0.1"), ("drain", "nothing to do", "127.0.0.1")
    ]  # fmt: skip


def test_a_stop_is_not_undone(served):
    peer = served.peer()
    peer.ask("endpoint.register", endpoint="generate")
    peer.ask("request.begin", id="r", endpoint="generate")
    served.operator().ask("drain", exit=True)
    code, answer = call(served, "resume")
    assert code == 409 and answer["error"]["code"] == "conflict"
    with pytest.raises(PeerError) as refused:
        served.operator().ask("resume")
    assert answer["error"]["message"] in str(refused.value)
    wait_until(lambda: len(orders(served)) > 2, "each has left its record")
    assert [each["effect"] for each in orders(served)] == ["done", "refused", "refused"]


@pytest.mark.parametrize(
    ("verb", "method", "token", "code"),
    [("drain", "POST", None, 401), ("drain", "POST", "a-toke", 403), ("status", "GET", None, 401),
     ("drain", "GET", TOKEN, 405), ("status", "POST", TOKEN, 405), ("resume", "PUT", TOKEN, 405)],
)  # fmt: skip
def test_a_caller_without_a_right_changes_nothing(served, verb, method, token, code):
    status_code, answer = call(served, verb, method, token)
    assert status_code == code and answer["error"]["message"]
    assert status(served)["phase"] == "serving"


def test_a_token_that_was_rotated_is_taken_and_none_closes_the_door(served):
    served.token_file.write_text("another")
    assert call(served, "drain")[0] == 403
    assert call(served, "status", "GET", "another")[0] == 200
    for text in ("", "\n"):
        served.token_file.write_text(text)
        assert call(served, "drain", token="another")[0] == 503
    served.token_file.unlink()
    assert call(served, "drain")[0] == 503
    assert call(served, "drain", token=None)[0] == 401


def refused(world):
    return [line for line in world.records() if "refused because of its token" in line["msg"]]


def test_wrong_tokens_are_counted_and_few_are_logged(served):
    for token in ("a", "b", None):
        call(served, "drain", token=token)
    counted = '\nlastcall_http_calls_refused_total{path="/lifecycle/drain"} 3\n'
    wait_until(lambda: counted in served.get("/metrics")[1], "all are counted")
    [record] = refused(served)
    assert (record["level"], record["from"], record["status"]) == ("WARNING", "127.0.0.1", 403)


def test_a_file_without_a_token_is_named_in_the_log_and_to_no_caller(served):
    served.token_file.unlink()
    code, answer = call(served, "drain")
    assert code == 503 and "token" in answer["error"]["message"]
    assert str(served.token_file) not in json.dumps(answer)
    wait_until(lambda: refused(served), "it is logged")
    assert f"{served.token_file}: No such file or directory" in refused(served)[0]["detail"]


def test_a_pipe_in_the_place_of_the_token_holds_no_probe_up(served):
    served.token_file.unlink()
    os.mkfifo(served.token_file)
    assert call(served, "drain", token=None)[0] == 401
    assert call(served, "drain")[0] == 503
    assert served.get("/livez")[0] == 200
    wait_until(lambda: refused(served), "it is logged")


def test_a_token_behind_the_links_of_a_mounted_secret_is_read(served, tmp_path):
    data = tmp_path / "..2026"
    data.mkdir()
    (data / "token").write_text("of a volume")
    (tmp_path / "..data").symlink_to("..2026")
    served.token_file.unlink()
    served.token_file.symlink_to("..data/token")
    assert call(served, "status", "GET", "of a volume")[0] == 200


def test_without_a_token_file_there_are_no_orders(world):
    one = world()
    one.run(*SLEEPER)
    wait_until(lambda: one.get("/livez")[0] == 200, "the listener")
    for verb in ("status", "drain", "resume"):
        assert one.get(f"/lifecycle/{verb}")[0] == 404
