"""What a worker can do is found by asking it, and an answer goes on where it can be taken up."""

import contextlib
import json

import pytest
from kinds_of_engines import KindOfEngine
from router_world import Router, static
from serve_peer import wait_until
from sim_fleet import User

AUTO = {"migration": {"by": "auto"}}
TOKENS = 8


@pytest.fixture
def engine():
    made = []

    def make(kind, **knobs):
        made.append(KindOfEngine(kind, **knobs))
        return made[-1]

    yield make
    for each in made:
        each.close()


def known(one, engine, chat, completions):
    line = f"worker http://{engine.address}: chat {chat}, completions {completions}\n"
    wait_until(lambda: line in one.operator("/readyz?verbose")[1], line)


class Asker(User):
    """`t0 t1 ...` up to TOKENS."""

    def __init__(self, port, chat=True, **fields):
        super().__init__(port, "x y", chat, TOKENS, model="m", **fields)


@pytest.mark.parametrize(
    ("kind", "chat", "completions"),
    [("vllm", "vllm_ids", "vllm_ids"), ("sglang", "sglang_ids", "sglang_ids"),
     ("text", "text", "text"), ("strict", "none", "text"), ("silent", "none", "none")],
)  # fmt: skip
def test_a_worker_is_known_by_what_it_proves(router, engine, kind, chat, completions):
    worker = engine(kind)
    one = router(worker.address, **AUTO)
    known(one, worker, chat, completions)
    for endpoint, by in (("chat_completions", chat), ("completions", completions)):
        labels = {"endpoint": endpoint, "by": by}
        assert one.metric("lastcall_router_workers_going_on", **labels) == 1
    assert one.counts("lastcall_router_probes_total", 1, outcome="answered")
    assert all(body["max_tokens"] == 1 and body["model"] == "m" for body in worker.probes)
    assert not worker.bodies, "no user's request"
    assert one.metric("dynamo_frontend_requests_total") == 0


def test_a_worker_of_any_model_is_asked_with_the_first_that_it_lists(router, engine):
    worker = engine("vllm", model="its own")
    one = router(static(worker.address, model=""), **AUTO)
    known(one, worker, "vllm_ids", "vllm_ids")
    assert {body["model"] for body in worker.probes} == {"its own"}


def test_a_list_of_models_without_measure_costs_the_router_nothing(router, engine):
    """Deep ones would take the stack, wide ones minutes; it is answered as a worker without one."""
    wide = {str(number): 0 for number in range(30_000)}
    lists = [b"[" * 200_000 + b"]" * 200_000, json.dumps({**wide, "data": [{"id": "m"}]}).encode()]
    workers = [engine("vllm", models=text) for text in lists]
    one = router(*(static(each.address, model="") for each in workers), **AUTO)
    for each in workers:
        known(one, each, "vllm_ids", "vllm_ids")
        assert {body["model"] for body in each.probes} == {""}
    assert one.operator("/livez")[0] == 200


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
@pytest.mark.parametrize(
    ("first", "then", "by_ids"),
    [("vllm", "vllm", True), ("vllm", "sglang", True), ("vllm", "text", False),
     ("sglang", "vllm", False), ("text", "vllm", False), ("sglang", "text", False)],
)  # fmt: skip
def test_an_answer_goes_on_as_its_next_worker_takes_it(router, engine, first, then, by_ids, chat):
    dying, other = engine(first, dies_at=3), engine(then)
    one = router(dying.address, other.address, choosing={"affinity": "header"}, **AUTO)
    wait_until(lambda: one.operator("/readyz?verbose")[1].count(": chat") == 2, "both are known")
    number = 0
    while not dying.bodies:
        assert Asker(one.port, chat, headers={"X-Session-Id": f"{number}"}).is_whole()
        number += 1
    going_on = other.bodies[-1]
    is_by_ids = by_ids or (first == "sglang" and then == "vllm" and not chat)
    given = going_on.get("prompt") if not chat else (
        (going_on.get("kv_transfer_params") or {}).get("prompt_token_ids")
        or going_on.get("input_ids"))  # fmt: skip
    assert isinstance(given, list) == is_by_ids, going_on
    assert "m1" in other.heads[-1]["X-Request-Id"]


def test_an_answer_passes_over_a_worker_that_cannot_take_it_up(router, engine):
    dying, silent, text = engine("text", dies_at=2), engine("silent"), engine("text")
    workers = (dying, silent, text)
    one = router(*(each.address for each in workers), choosing={"attempts": 1}, **AUTO)
    known(one, silent, "none", "none")
    known(one, text, "text", "text")
    known(one, dying, "text", "text")
    while not dying.bodies:
        assert Asker(one.port).is_whole()
    assert "continue_final_message" in text.bodies[-1]
    assert not any("continue_final_message" in body for body in silent.bodies)


def test_where_no_worker_can_go_on_the_client_receives_the_error_at_once(router, engine, tmp_path):
    def write(name, worker):
        text = json.dumps({"advertise": f"http://{worker.address}", "model": "m"})
        (tmp_path / name).write_text(text)

    dying, silent = engine("text", dies_at=2), engine("silent")
    dying.may_die.clear()
    write("a.json", dying)
    one = router({"file": {"directory": str(tmp_path)}}, migration={"by": "auto", "wait": "1h"})
    known(one, dying, "text", "text")
    user = Asker(one.port)
    wait_until(lambda: "t1" in user.text, "it has begun")
    write("b.json", silent)
    known(one, silent, "none", "none")
    (tmp_path / "a.json").unlink()
    wait_until(lambda: one.metric("lastcall_router_workers") == 1, "the first has left")
    dying.may_die.set()
    assert user.ended().error["reason"] == "worker_cannot"
    assert silent.bodies == []


def test_a_worker_that_is_busy_is_asked_again(router, engine):
    worker = engine("vllm", probe_status=503)
    one = router(worker.address, **AUTO)
    wait_until(lambda: one.metric("lastcall_router_probes_total", outcome="failed") > 0, "failed")
    known(one, worker, "unknown", "unknown")
    assert one.metric("lastcall_router_workers_going_on", by="unknown") == 2
    worker.probe_status = None
    known(one, worker, "vllm_ids", "vllm_ids")


def test_a_known_worker_that_is_gone_is_not_counted_as_probed(router, engine):
    worker = engine("text")
    one = router(worker.address, **AUTO)
    known(one, worker, "text", "text")
    worker.close()
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    wait_until(lambda: one.metric("lastcall_router_probes_total", outcome="failed") > 0, "failed")
    assert one.metric("lastcall_router_probes_total", outcome="answered") == 1
    assert one.log().count("a worker was probed") == 1
    known(one, worker, "text", "text")  # what was known is kept


def test_a_worker_that_is_not_known_goes_on_by_text(router, engine):
    dying, other = engine("text", dies_at=3, probe_status=401), engine("vllm", probe_status=401)
    one = router(dying.address, other.address, **AUTO)
    while not dying.bodies:
        assert Asker(one.port).is_whole()
    assert "continue_final_message" in other.bodies[-1]
    assert "return_token_ids" not in dying.bodies[0]


KEY = "sk-hush-4711"


def key_file(tmp_path, text=KEY + "\n"):
    (tmp_path / "new").write_text(text)
    (tmp_path / "new").rename(tmp_path / "key")
    return {"migration": {"by": "auto", "key_file": str(tmp_path / "key")}}


def test_a_worker_that_wants_a_key_is_asked_with_that_of_the_file(router, engine, tmp_path):
    first, second = engine("vllm", key=KEY, dies_at=3), engine("vllm", key=KEY)
    one = router(first.address, second.address, **key_file(tmp_path))
    known(one, first, "vllm_ids", "vllm_ids")
    known(one, second, "vllm_ids", "vllm_ids")
    while not first.bodies:  # users have keys of their own
        assert Asker(one.port, headers={"Authorization": f"Bearer {KEY}"}).is_whole()
    assert "prompt_token_ids" in second.bodies[-1]["kv_transfer_params"]
    user = Asker(one.port).ended()
    assert (user.status, one.log().count(KEY)) == (401, 0), "the router's key is for nobody else"


@pytest.mark.parametrize("before", [None, "sk-old\n", "", "two words\n"],
                         ids=["none", "another", "empty", "malformed"])  # fmt: skip
def test_a_key_that_comes_later_is_read(router, engine, tmp_path, before):
    worker = engine("sglang", key=KEY)
    config = key_file(tmp_path, before or "")
    if before is None:
        (tmp_path / "key").unlink()
    one = router(worker.address, **config)
    known(one, worker, "unknown", "unknown, it answers 401")
    assert "a worker requires a key for probes" in one.log()
    is_told = "workers are probed without a key" in one.log()
    assert is_told == (before != "sk-old\n")
    key_file(tmp_path, KEY + "\r\n")
    known(one, worker, "sglang_ids", "sglang_ids")
    assert ("the key for workers can be read again" in one.log()) == is_told
    assert KEY not in one.log() and "sk-old" not in one.log() and "two words" not in one.log()


def test_a_key_may_come_from_the_environment(tmp_path, engine):
    worker = engine("text", key=KEY)
    config = {"load": {"interval": None}, **AUTO}
    with contextlib.closing(Router(tmp_path, [static(worker.address)], **config)) as one:
        one.start(LASTCALL_ROUTER_WORKER_KEY=KEY)
        known(one, worker, "text", "text")
        assert KEY not in one.log()


def test_a_worker_that_takes_no_more_what_it_took_is_asked_anew(router, engine):
    worker = engine("vllm")
    one = router(worker.address, **AUTO)
    known(one, worker, "vllm_ids", "vllm_ids")
    worker.kind = "strict"
    assert Asker(one.port).is_whole()
    known(one, worker, "none", "text")


def test_a_worker_that_comes_back_as_another_is_asked_anew(router, engine, tmp_path):
    first = engine("text")
    one = router(first.address, choosing={"skip_first": "50ms", "skip_most": "50ms"}, **AUTO)
    known(one, first, "text", "text")
    first.kind = "vllm"
    port = first.port
    first.close()
    assert one.ask("POST", "/v1/completions", {"model": "m", "prompt": "x"})[0] == 503
    again = engine("vllm", port=port)
    known(one, again, "vllm_ids", "vllm_ids")


def test_a_reload_to_auto_asks_the_workers_that_are_there(router, engine):
    worker = engine("vllm")
    one = router(worker.address)
    assert "worker http" not in one.operator("/readyz?verbose")[1] and not worker.probes
    one.config["migration"] = {"by": "auto"}
    one.write_config()
    one.process.send_signal(1)
    known(one, worker, "vllm_ids", "vllm_ids")


def test_many_workers_are_asked_some_at_a_time(router, engine):
    workers = [engine("text") for _ in range(40)]
    one = router(*(each.address for each in workers), **AUTO)
    assert one.counts(
        "lastcall_router_workers_going_on", 40, endpoint="chat_completions", by="text")


@pytest.mark.parametrize("by", ["text", "vllm_ids"])
def test_a_stop_string_that_began_before_the_seam_ends_the_answer_and_is_not_seen(
    router, engine, by
):
    kind = "vllm" if by == "vllm_ids" else "text"
    dying, other = engine(kind, dies_at=4), engine(kind)  # its client is owed `t3 `, which is held
    one = router(dying.address, other.address, migration={"by": by})
    while not dying.bodies:
        user = User(one.port, "x y", True, TOKENS, model="m", stop=["t3 t4"]).ended()
    assert (user.error, user.text, user.reasons, user.done) == (None, "t0 t1 t2 ", ["stop"], 1)


@pytest.mark.parametrize(("comment", "seen"), [(True, 1), (False, 0)])
def test_an_answer_that_moved_is_marked_where_that_is_wanted(router, engine, comment, seen):
    dying, other = engine("text", dies_at=3), engine("text")
    one = router(dying.address, other.address, migration={"by": "text", "comment": comment})
    while not dying.bodies:
        user = Asker(one.port)
        assert user.is_whole()
    assert user.comments == [': lastcall-migrated {"kind": "failure"}'] * seen
    assert Asker(one.port).ended().comments == []


def test_logprobs_of_a_completion_that_cannot_go_on_end_it_in_words(router, engine):
    dying, other = engine("text", dies_at=3), engine("text")
    one = router(dying.address, other.address)
    while not dying.bodies:
        user = Asker(one.port, False, logprobs=1).ended()
    assert user.error["reason"] == "logprobs"
    assert not any("t0" in str(body["prompt"]) for body in other.bodies)
