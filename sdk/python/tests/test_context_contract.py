"""The cases of tests/contract/request_context.jsonl, whose format its README describes."""

import asyncio
import json
import os
import threading

import pytest

from lastcall import Context

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
TABLE = os.path.join(ROOT, "tests", "contract", "request_context.jsonl")
REFUSALS = {"id": "cannot use this request id", "cycle": "cycle"}

with open(TABLE, encoding="utf-8") as file:
    CASES = [json.loads(line) for line in file]


class Case:
    """Takes the steps of one case; `do_X` is what `"do": "X"` means."""

    def __init__(self):
        self.contexts = {}
        self.notified = []
        self.waits = {}
        self.fans = {}
        self.chains = {}

    async def take(self, steps):
        for step in steps:
            # A wait may go on before and after each step, whatever the step does.
            await asyncio.sleep(0)
            if step["do"] == "wait":
                self.waits[step["as"]] = asyncio.ensure_future(self.wait(step))
                await asyncio.sleep(0)
            elif step["do"] == "returned":
                await self.check_wait(step)
            else:
                self.take_one(step)

    def take_one(self, step):
        act = getattr(self, "do_" + step["do"], None) or self.call
        if "refused" in step:
            with pytest.raises(ValueError, match=REFUSALS[step["refused"]]):
                act(step)
            return
        result = act(step)
        if "is" in step:
            assert result == step["is"] and type(result) is type(step["is"]), step

    # --- steps

    def do_new(self, step):
        made = Context(step.get("id", step["as"]), root=step.get("root"))
        self.contexts[step["as"]] = made

    def call(self, step):
        context = self.contexts[step["on"]]
        given = {key: step[key] for key in ("reason", "outcome") if key in step}
        return getattr(context, step["do"])(**given)

    def do_link_child(self, step):
        return self.contexts[step["on"]].link_child(self.contexts[step["child"]])

    def do_root(self, step):
        return self.contexts[step["on"]].root

    def do_reason(self, step):
        return self.contexts[step["on"]].reason

    def do_cause(self, step):
        return self.contexts[step["on"]].cause

    def do_outcome(self, step):
        return self.contexts[step["on"]].outcome

    def do_children(self, step):
        return len(self.contexts[step["on"]]._children)

    def do_watch(self, step):
        name = step["on"]
        self.contexts[name].on_stop(lambda _: self.notified.append(f"{name} stopped"))
        self.contexts[name].on_kill(lambda _: self.notified.append(f"{name} killed"))

    def do_notified(self, _):
        notified, self.notified = self.notified, []
        return notified

    def do_react(self, step):
        subscribe = getattr(self.contexts[step["on"]], "on_" + step["to"])
        failures = []
        subscribe(lambda _: failures.extend(self.failures_of(step["with"])))
        self.reactions = failures

    def failures_of(self, steps):
        """A callback's exception is swallowed by the product, so it is kept here."""
        try:
            for step in steps:
                self.take_one(step)
        except BaseException as failure:  # pytest.fail is no Exception
            return [failure]
        return ["taken"]

    def do_fan(self, step):
        notified = []
        fan = [Context(f"{step['below']}/{number}") for number in range(step["count"])]
        for child in fan:
            child.on_stop(notified.append)
            assert self.contexts[step["below"]].link_child(child) is True
        self.fans[step["below"]] = fan, notified

    def do_fan_notified(self, step):
        fan, notified = self.fans[step["below"]]
        assert notified == fan

    def do_fan_end(self, step):
        assert all(child.end() for child in self.fans[step["below"]][0])

    def do_chain(self, step):
        chain = [Context() for _ in range(step["length"])]
        for parent, child in zip(chain, chain[1:]):
            assert parent.link_child(child) is True
        self.contexts[step["top"]], self.contexts[step["last"]] = chain[0], chain[-1]
        self.chains[step["top"]] = chain

    def do_chain_end(self, step):
        assert all(context.end() for context in reversed(self.chains[step["top"]]))

    def do_race(self, step):
        for _ in range(step["times"]):
            for each in step["before"]:
                self.take_one(each)
            results = self.race(step["threads"])
            assert step.get("trues", results.count(True)) == results.count(True), results
            for each in step["after"]:
                self.take_one(each)

    def race(self, lists):
        results = []
        gate = threading.Barrier(len(lists))

        def run(steps):
            gate.wait(30)
            for step in steps:
                act = getattr(self, "do_" + step["do"], None) or self.call
                try:
                    results.append(act(step))
                except ValueError as refusal:
                    results.append(str(refusal))

        threads = [threading.Thread(target=run, args=(steps,)) for steps in lists]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(results) == sum(map(len, lists)), "a thread hangs"
        return results

    # --- waits

    async def wait(self, step):
        result = await getattr(self.contexts[step["on"]], step["for"])()
        assert result is (True if step["for"] == "async_killed_or_stopped" else None)

    async def check_wait(self, step):
        wait = self.waits[step["wait"]]
        if step["is"]:
            await asyncio.wait_for(asyncio.shield(wait), 20)
        else:
            for _ in range(5):
                await asyncio.sleep(0)
            assert not wait.done(), step


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_case_of_the_contract_holds(case):
    async def main():
        runner = Case()
        await runner.take(case["steps"])
        assert getattr(runner, "reactions", ["taken"]) == ["taken"]
        for wait in runner.waits.values():
            wait.cancel()
        await asyncio.gather(*runner.waits.values(), return_exceptions=True)

    asyncio.run(main())


def test_the_table_has_every_method_of_the_context():
    done = {step["do"] for case in CASES for step in case["steps"]}
    waited = {step["for"] for case in CASES for step in case["steps"] if step["do"] == "wait"}
    methods = {"id", "is_stopped", "is_killed", "stop_generating", "stop", "kill", "link_child"}
    assert methods <= done
    assert waited == {"stopped", "killed", "async_killed_or_stopped"}


@pytest.mark.parametrize(
    "step",
    [
        {"do": "is_stopped", "on": "a", "is": True},
        {"do": "stop", "on": "a", "is": False},
        {"do": "notified", "is": ["a stopped"]},
        {"do": "link_child", "on": "a", "child": "b", "refused": "cycle"},
        {"do": "race", "times": 1, "before": [], "threads": [[{"do": "stop", "on": "a"}]],
         "after": [], "trues": 0},
        {"do": "wait", "on": "a", "for": "stopped", "as": "w"},
    ],
)  # fmt: skip
def test_a_case_that_does_not_hold_is_noticed(step):
    steps = [{"do": "new", "as": "a"}, {"do": "new", "as": "b"}, step]
    if step["do"] == "wait":
        steps += [{"do": "stop", "on": "a"}, {"do": "returned", "wait": "w", "is": False}]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        asyncio.run(Case().take(steps))
