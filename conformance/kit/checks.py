"""The checks of scenarios. Each returns nothing if it holds, or one sentence about what was seen.

A check is named by `who` and `that` of an `[[expect]]` block; further keys are its arguments. The
list in docs/conformance.md is made from the first lines of the docstrings here.
"""

import json
import re

CHECKS = {}
SECOND = 1000


def check(who, that):
    def keep(function):
        CHECKS[who, that] = function
        return function

    return keep


def _call(run, of):
    return run.calls[of]


def _seen(call):
    words = f"{call.outcome} after {call.got} of {call.tokens} tokens"
    return words + (f", status {call.status}" if call.status not in (None, 200) else "")


# --- the client


@check("client", "complete")
def complete(run, of):
    """Every token of this request came, in order, with a `finish_reason` and `[DONE]`."""
    call = _call(run, of)
    return None if call.outcome == "complete" else f"{of} was {_seen(call)}"


@check("client", "notified")
def notified(run, of):
    """The request is complete, or it ended without `[DONE]` and with an error object that says that
    it may be sent again."""
    call = _call(run, of)
    if call.outcome == "notified" and call.done:
        return f"{of} was notified of an error, and then received [DONE]"
    if call.outcome == "complete":
        return None
    if call.outcome in ("notified", "refused"):
        if call.may_be_retried:
            return None
        return f"{of} was {_seen(call)}, without a hint whether to send it again"
    return f"{of} was {_seen(call)}, without notice"


@check("client", "not falsely complete")
def not_falsely_complete(run, of):
    """An incomplete answer does not look complete."""
    call = _call(run, of)
    return f"{of} looks complete and has {call.got} of {call.tokens} tokens" \
        if call.outcome == "finished" else None  # fmt: skip


@check("client", "answered")
def answered(run, of):
    """The request was served completely, or refused with a status and a hint when to retry."""
    call = _call(run, of)
    if call.outcome == "complete" or (call.outcome == "refused" and call.may_be_retried):
        return None
    return f"{of} was {_seen(call)}" + (
        ", without a hint when to retry" if call.outcome == "refused" else "")  # fmt: skip


@check("client", "counts")
def counts(run, of, complete=None, refused=None):
    """In a group of requests, `complete` were served and `refused` refused with `Retry-After`."""
    calls = [call for name, call in run.calls.items() if name.startswith(of)]
    served = sum(call.outcome == "complete" for call in calls)
    refusals = sum(call.outcome == "refused" and call.may_be_retried for call in calls)
    if (complete, refused) == (served, refusals):
        return None
    silent = sum(call.outcome == "refused" and not call.may_be_retried for call in calls)
    others = len(calls) - served - refusals - silent
    return (f"{served} of {len(calls)} were served and {refusals} refused with a hint, {silent} "
            f"without, {others} otherwise; expected {complete} and {refused}")  # fmt: skip


@check("client", "ended within")
def request_ended_within(run, of, s, after):
    """The client knows how its request ended at most `s` seconds after a mark."""
    call = _call(run, of)
    if call.ended_ms is None:
        return f"{of} still waited when the run was over"
    took = (call.ended_ms - run.marks[after]) / SECOND
    return None if took <= s else f"{of} waited {took:.1f} s, {s} s are allowed"


# --- the kubelet


@check("kubelet", "ended within")
def ended_within(run, s, after="stop"):
    """Every container ends at most `s` seconds after a mark (`stop`, or one that a step set)."""
    if (ended := run.pod.ended_ms()) is None:
        return "the pod still ran when the run was over"
    took = (ended - run.marks[after]) / SECOND
    return None if took <= s else f"the pod ended after {took:.1f} s, {s} s are allowed"


@check("kubelet", "not killed")
def not_killed(run, of=None):
    """No container, or not the container `of`, had to be killed at the end of the grace."""
    killed = [name for name in run.pod.killed() if of in (None, name)]
    return f"KILL at the end of the grace: {', '.join(killed)}" if killed else None


@check("kubelet", "exit code")
def exit_code(run, of=(0,)):
    """The engine's container ended with one of these codes; `"not 0"` is any other code."""
    code = run.pod.engine.code
    fits = code not in (None, 0) if of == "not 0" else code in of
    return None if fits else f"the engine's container ended with {code}, expected {of}"


@check("kubelet", "not ready within")
def not_ready_within(run, s, after):
    """The pod is not ready, or has ended, at most `s` seconds after a mark."""
    since = run.marks[after]
    turned = [e.at_ms for e in run.transcript.events("kubelet", "not ready") if e.at_ms >= since]
    turned += [run.pod.engine.ended_ms] if run.pod.engine.ended_ms else []
    turned += [run.marks["stop"]] if "stop" in run.marks and not turned else []
    if turned and "stop" in run.marks and min(turned) >= run.marks["stop"]:
        turned = []
    if not turned:
        return f"still ready {(run.ended_ms - since) / SECOND:.1f} s later"
    took = (min(turned) - since) / SECOND
    return None if took <= s else f"not ready after {took:.1f} s, {s} s are allowed"


@check("kubelet", "nothing left")
def nothing_left(run):
    """No process of the engine's container is left once the container has ended."""
    return f"left: {run.left}" if run.left else None


# --- the engine


def _signals(run, role, name):
    return run.transcript.events("engine", "signal", role=role, name=name)


@check("engine", "stop signals")
def stop_signals(run, count):
    """The engine's main process received TERM `count` times."""
    seen = len(_signals(run, "main", "TERM"))
    if seen == count:
        return None
    return f"the engine's main process received {seen} TERM, expected {count}"


@check("engine", "not stopped before")
def not_stopped_before(run, of):
    """No process of the engine received TERM before its work on this request had ended."""
    # The time is read on the engine's clock, because a client reads the last byte some milliseconds
    # after it was sent.
    ends = [run.engine_event(what, id=of) for what in ("end", "abort", "cut")]
    ended = min((e.at_ms for e in ends if e), default=None)
    early = [e for e in run.transcript.events("engine", "signal", name="TERM")
             if ended is None or e.at_ms < ended]  # fmt: skip
    if not early:
        return None
    return f"TERM to the engine's {early[0].fields['role']} while {of} ran"


@check("engine", "aborted within")
def aborted_within(run, of, s, after):
    """The engine stops working on this request at most `s` seconds after a mark."""
    gone = run.engine_event("abort", id=of)
    if gone is None:
        return f"the engine never stopped working on {of}"
    took = (gone.at_ms - run.marks[after]) / SECOND
    if took <= s:
        return None
    return f"the engine worked on {of} {took:.1f} s longer, {s} s are allowed"


@check("engine", "at most")
def at_most(run, running):
    """At most `running` requests ran in the engine at the same time."""
    now = most = 0
    for event in run.transcript.events("engine"):
        now += (event.what == "begin") - (event.what in ("end", "abort", "cut"))
        most = max(most, now)
    return None if most <= running else f"{most} requests ran at the same time"


@check("engine", "no zombies")
def no_zombies(run):
    """When the step `find_zombies` looked, no process of the container was a zombie."""
    return f"zombies: {run.zombies}" if run.zombies else None


# --- the operator


@check("operator", "cut count")
def cut_count(run, cut):
    """The pod's output or termination message states in JSON how many requests were cut.

    The adapter names the keys that may hold the number (`cut_keys`); the largest counts.
    """
    keys = run.description.get("cut_keys", ())
    if not keys:
        return "nothing in the output or the termination message says how many requests were cut"
    seen = None
    for container in run.pod.containers:
        for line in (container.message() + "\n" + container.text()).splitlines():
            for found in _objects(line):
                values = [_number(found, key) for key in keys]
                if any(value is not None for value in values):
                    seen = max(value or 0 for value in values)
                    if seen == cut:
                        return None
    return f"the output says {seen} were cut, {cut} were"


def _objects(line):
    start = line.find("{")
    if start >= 0:
        try:
            yield json.loads(line[start:])
        except ValueError:
            for text in re.findall(r"\{[^{}]*\}", line):
                try:
                    yield json.loads(text)
                except ValueError:
                    pass


def _number(value, key):
    for word in key.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return value if isinstance(value, int) else None


@check("operator", "done")
def done(run, verb):
    """The operator's command (`drain`, `resume`) ended with 0."""
    code = run.operator.get(verb)
    return None if code == 0 else f"`{verb}` ended with {code}"
