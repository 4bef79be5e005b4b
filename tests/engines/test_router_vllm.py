"""Two real vLLM behind lastcall-router: one is killed under streams that are each at another point.

What is compared: a recorder between router and workers has every byte of both, so each seam is
looked at from outside. The prompt that the second worker reports is the first one's and what the
client had of it, and the client's text is that of the first leg and that of the second, whatever
was sampled. Where the temperature is 0 the text is also that of the same request undisturbed: both
workers have the same weights, random ones that vLLM makes of one seed.

By ids the model may make any token: one in sixteen is a part of a character, and what is not valid
becomes U+FFFD. By text it may make whole words only, because random tokens, unlike those of a
trained model, are not those that their text would be read as; what happens then has a test of its
own. With `auto` the router asks each worker what it can, finds that it takes ids, and goes on so.
"""

import contextlib
import json
import os
import signal
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
OTHERS = ("serve", "ingress", "registries", "router")
sys.path += [os.path.join(HERE, "../integration", each) for each in OTHERS]

from conftest import ENGINES, LOADING, Engine, wait_until  # noqa: E402
from recorder import Recorder  # noqa: E402
from router_world import Router  # noqa: E402
from sim_fleet import User  # noqa: E402

POSITIONS = 20
SECRET = "the password is xyzzy; "
ENDPOINTS = ("completions", "chat")
KINDS = [(by, chat, says) for by, says in (("vllm_ids", "anything"), ("text", "words"))
         for chat in (True, False)]  # fmt: skip


def whole_words():
    """Tokens that are a space and letters: their text is read as the same tokens wherever it is."""
    with open(os.path.join(ENGINES, "small/tokenizer.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)["model"]["vocab"]
    words = [number for token, number in vocabulary.items()
             if token[0] == "\u0120" and token[1:].isascii() and token[1:].isalpha()]  # fmt: skip
    assert len(words) > 100
    return sorted(words)


class Worker:
    """A vLLM below `lastcall run` with its ingress, and the recorder in front of that."""

    def __init__(self, directory, *flags):
        self.engine = Engine(directory, "small", "--served-model-name", "m", *flags, ingress=True)
        self.recorder = Recorder(self.engine.ingress_port)

    def announce(self, directory):
        path = os.path.join(directory, f"{self.recorder.port}.json")
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump({"advertise": f"http://{self.recorder.address}", "model": "m"}, file)
        os.rename(path + ".tmp", path)

    def kill(self, what):
        if what == "core":
            os.kill(self.engine.core(), signal.SIGKILL)
            return
        # Kills either the engine's main process, or everything, beginning with the shim and the
        # supervisor.
        tree = self.engine.tree()
        main = [pid for pid, words in tree[1:] if "bin/vllm" in words]
        for pid in main[:1] if what == "engine" else [pid for pid, _ in tree]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self):
        self.recorder.close()
        self.engine.close()


class Speaker(User):
    """A stream whose prompt no other stream has; `events` counts what has come."""

    def __init__(self, port, by, chat, number, says):
        self.by, self.events = by, 0
        self.label = f"{by}-{'chat' if chat else 'completion'}-{number}"
        self.content = f"{SECRET}{self.label} counts to"
        tokens = 400 + 50 * (POSITIONS - number)  # the first has to be there still at the last
        more = {"allowed_token_ids": WORDS} if says == "words" else {}
        # Every second answer is sampled, so its second leg is another sample, as valid as the
        # first. No seed is set: with one, vLLM 0.32 for CPUs dies in a prefill that it computes in
        # parts.
        self.greedy = number % 2 == 0
        super().__init__(
            port, self.content, chat, tokens, {"X-Request-Id": self.label},
            model="m", ignore_eos=True, temperature=0 if self.greedy else 1,
            stream_options={"include_usage": True}, **more,
        )  # fmt: skip

    def take(self, data):
        self.events += 1
        super().take(data)


WORDS = whole_words() if os.path.exists(os.path.join(ENGINES, "small")) else []


@pytest.fixture(scope="module")
def survivor(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("survivor"))
    yield made
    made.close()


@pytest.fixture
def doomed(tmp_path, request):
    mark = request.node.get_closest_marker("engine_flags")
    made = Worker(tmp_path, *(mark.args if mark else ()))
    yield made
    made.close()


@pytest.fixture
def routers(tmp_path_factory):
    """One a way of going on; all find their workers in one directory."""
    directory = tmp_path_factory.mktemp("instances")
    made = {by: Router(tmp_path_factory.mktemp("r"), [{"file": {"directory": str(directory)}}],
                       migration={"by": by}) for by in ("vllm_ids", "text", "auto")}  # fmt: skip
    yield str(directory), made
    for one in made.values():
        one.close()


def delivered_by_ids(user, first, second):
    """The ids that the client had text of: what the second worker was given after the prompt."""
    sent = (second.body["kv_transfer_params"]["prompt_token_ids"] if "messages" in second.body
            else second.body["prompt"])  # fmt: skip
    assert second.prompt_ids == sent, "the reported prompt is not the prompt sent"
    prompt = len(first.prompt_ids)
    assert sent[:prompt] == first.prompt_ids
    kept = sent[prompt:]
    assert kept == first.ids[: len(kept)]
    count, text = 0, ""
    for ids, piece in first.pieces:
        if count >= len(kept):
            assert piece == "", "text behind the last id that was kept"
        count, text = count + len(ids), text + piece
    assert len(kept) + len(second.ids) == user.tokens
    return len(kept)


def delivered_by_text(user, first, second):
    """The text that the client had, as it was given to the second worker."""
    if "messages" in second.body:
        [*before, last] = second.body["messages"]
        assert before == first.body["messages"]
        assert last == {"role": "assistant", "content": first.text}
        assert (second.body["continue_final_message"], second.body["add_generation_prompt"]) == (
            True, False)  # fmt: skip
    else:
        assert second.body["prompt"] == first.body["prompt"] + first.text
    kept = second.prompt_tokens - first.prompt_tokens
    assert second.body["max_tokens"] == user.tokens - kept
    assert kept == len(first.text.split())  # a word is a token
    return kept


def look_at_the_seam(user, first, second):
    """How many tokens the first leg brought; 0: none, and the second was the request again."""
    assert first is not None and second is not None, f"{user.label} was not moved"
    assert user.error is None, (user.label, user.error)
    assert (len(user.ids), user.reasons, user.done) == (1, ["length"], 1), user.label
    assert SECRET.strip() not in user.text and "counts to" not in user.text
    kept = 0
    if first.text:
        by_ids = user.by != "text"
        kept = (delivered_by_ids if by_ids else delivered_by_text)(user, first, second)
    assert user.text == first.text + second.text, user.label
    usage = {"prompt_tokens": first.prompt_tokens or second.prompt_tokens,
             "completion_tokens": user.tokens}  # fmt: skip
    [reported] = user.usage
    assert {name: reported[name] for name in usage} == usage, user.label
    return kept


def undisturbed(survivor, users):
    """The answers of the same requests without a seam, a few at a time."""
    texts = {}
    for start in range(0, len(users), 10):
        some = [User(survivor.engine.engine_port, each.content, each.chat, each.tokens, **each.body)
                for each in users[start : start + 10]]  # fmt: skip
        for user, one in zip(users[start : start + 10], some, strict=True):
            one.join(LOADING)
            assert one.error is None, one.error
            texts[user.label] = one.text
    return texts


def wait_until_known(router, by, workers):
    """With `auto`: what they can, too, which is what a vLLM can."""
    wait_until(lambda: router.metric("lastcall_router_workers") == workers, "workers are known")
    for endpoint in ("completions", "chat_completions") if by == "auto" else ():
        labels = {"endpoint": endpoint, "by": "vllm_ids"}
        wait_until(lambda labels=labels: workers == router.metric(
            "lastcall_router_workers_going_on", **labels), f"they are found to take {labels}")


def cut(routers, doomed, survivor, what, kinds):
    """Streams of these kinds, each begun after the one before it, and cut by a kill."""
    directory, made = routers
    ways = {by: made[by] for by, _, _ in kinds}
    doomed.announce(directory)
    for by, one in ways.items():
        one.start()
        wait_until_known(one, by, 1)
    users = []
    for number in range(POSITIONS):
        wait_until(lambda: not users or users[-1].events > 3, "those before it move")
        users += [Speaker(ways[by].port, by, chat, number, says) for by, chat, says in kinds]
    wait_until(lambda: all(each.events > 1 for each in users), "all have begun")
    survivor.announce(directory)
    for by, one in ways.items():
        wait_until_known(one, by, 2)
    doomed.kill(what)
    for each in users:
        each.join(LOADING)
        assert not each.is_alive(), each.label
    before, after = doomed.recorder.legs(), survivor.recorder.legs()
    moved = [each for each in users if b"[DONE]" not in before[each.label].payload]
    assert len(moved) > 0.9 * len(users)  # a fast machine may have been through with the first
    return moved, before, after


@pytest.mark.parametrize("what", ["core", "engine", "worker"])
def test_streams_at_twenty_positions_go_on_when_their_worker_is_killed(
    routers, doomed, survivor, what
):
    users, before, after = cut(routers, doomed, survivor, what, KINDS)
    kept, problems = {}, []
    for user in users:
        try:
            at = look_at_the_seam(user, before.get(user.label), after.get(user.label + "-m1"))
            kept.setdefault((user.by, user.chat), []).append(at)
        except AssertionError as problem:
            problems.append(f"{user.label}: {problem}")
    for kind, positions in kept.items():
        print(what, *kind, "cut behind", sorted(positions))
    questions = sum(label.endswith("-d") for label in after)
    print(what, questions, "answers ended behind an event of several ids")
    greedy = [each for each in users if each.greedy and not each.error]
    reference = undisturbed(survivor, greedy)
    problems += [f"{each.label}: differs from the undisturbed answer" for each in greedy
                 if each.text != reference[each.label]]  # fmt: skip
    assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems)
    assert all(len(set(positions)) > POSITIONS / 2 for positions in kept.values())


def test_the_abilities_of_a_worker_are_found_by_asking_it(routers, doomed, survivor):
    kinds = [("auto", chat, "anything") for chat in (True, False)]
    users, before, after = cut(routers, doomed, survivor, "engine", kinds)
    for user in users:
        look_at_the_seam(user, before[user.label], after.get(user.label + "-m1"))
    router = routers[1]["auto"]
    for worker in (doomed, survivor):
        assert f"{worker.recorder.address}" in router.log()
    assert router.metric("lastcall_router_probes_total", outcome="answered") >= 2
    moves = {"kind": "failure", "outcome": "continued"}
    assert router.metric("lastcall_router_moves_total", **moves) == len(users)
    # Probes are nobody's requests: the worker has counted only what was moved to it.
    _, counts = survivor.engine.get("/metrics")
    print([line for line in counts.splitlines() if line.startswith("lastcall_requests_total")])


@pytest.mark.engine_flags("--stream-interval", "4")
def test_ids_that_are_sent_together_are_proven_by_their_text(routers, doomed, survivor):
    kinds = [("vllm_ids", chat, "words") for chat in (True, False)]
    users, before, after = cut(routers, doomed, survivor, "engine", kinds)
    several = [each for each in users if len(before[each.label].pieces[-1][0]) > 1]
    assert len(several) > POSITIONS
    assert all(f"{each.label}-d" in after for each in several)
    for user in users:
        look_at_the_seam(user, before[user.label], after[user.label + "-m1"])


def test_text_that_is_read_as_other_tokens_is_whole_or_ends_with_the_reason(
    routers, doomed, survivor
):
    kinds = [("text", chat, "anything") for chat in (True, False)]
    users, before, after = cut(routers, doomed, survivor, "worker", kinds)
    whole = 0
    for user in users:
        legs = [before[user.label], *(after[user.label + end] for end in ("-m1", "-m2", "-m3")
                                      if user.label + end in after)]  # fmt: skip
        assert SECRET.strip() not in user.text
        if user.error is None:
            assert (user.reasons, user.done) == (["length"], 1), user.label
            assert user.text == legs[0].text + legs[-1].text, user.label
            whole += 1
        else:
            # If the other worker has proven nothing, the dead one is asked again.
            assert user.error["reason"] in ("worker_cannot", "moved_too_often", "no_worker",
                                            "engine_died_twice", "space_sent")  # fmt: skip
            assert (user.text, user.done) == (legs[0].text, 0), user.label
    print(f"{whole} of {len(users)} were proven and are whole")
