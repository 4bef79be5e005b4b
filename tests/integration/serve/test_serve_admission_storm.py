"""Storms of arrivals, hang-ups and resizes over real sockets: N + Q is exact in each moment."""

import random
import select

import pytest
from serve_admission import admission, limited, serving
from serve_peer import wait_until


class Storm:
    """What the supervisor must answer, by what was sent to it: one list, gone through each time."""

    def __init__(self, running, waiting):
        self.running, self.waiting = running, waiting
        self.runs, self.queue = [], []

    def settle(self):
        granted = []
        while self.queue and len(self.runs) < self.running:
            granted.append(self.queue.pop(0))
            self.runs.append(granted[-1])
        return granted

    def arrive(self, key):
        if not self.queue and len(self.runs) < self.running:
            self.runs.append(key)
            return "admitted"
        if len(self.queue) < self.waiting:
            self.queue.append(key)
            return None
        return "rejected"

    def leave(self, key):
        (self.runs if key in self.runs else self.queue).remove(key)


@pytest.mark.parametrize("seed", range(3))
def test_n_and_q_are_exact_in_a_storm_of_arrivals_hang_ups_and_resizes(world, seed):
    dice = random.Random(seed)
    storm = Storm(3, 4)
    one = serving(world, **limited(storm.running, storm.waiting))
    operator = one.operator()
    peers = [one.peer(name=f"p{number}") for number in range(4)]
    of = {}

    def grants():
        for key in storm.settle():
            of[key].expect("admitted", id=key)

    for number in range(300):
        move = dice.random()
        if move < 0.5:
            peer, key = dice.choice(peers), f"r{number}"
            of[key] = peer
            expected = storm.arrive(key)
            peer.ask("request.begin", id=key, admit=True)
            if expected:
                peer.expect(expected, id=key)
        elif move < 0.85 and (storm.runs or storm.queue):
            key = dice.choice(storm.runs + storm.queue)
            storm.leave(key)
            of[key].ask("request.end", id=key, outcome=dice.choice(["completed", "cancelled"]))
        elif move < 0.93:
            storm.running, storm.waiting = dice.randint(1, 5), dice.randint(0, 5)
            operator.ask(
                "admission.set", engine_request_limit=storm.running, queue_limit=storm.waiting
            )
        elif storm.queue:
            # A whole connection hangs up: its waiters leave at once, what runs is lost later.
            victim = of[storm.queue[-1]]
            if not any(of[key] is victim for key in storm.runs):
                for key in [key for key in storm.queue if of[key] is victim]:
                    storm.leave(key)
                before = len(storm.queue)
                victim.close()
                peers[peers.index(victim)] = one.peer(name="again")
                wait_until(lambda: operator.ask("status")["admission"]["waiting"] == before)
        grants()
        state = operator.ask("status")["admission"]
        assert (state["running"], state["waiting"]) == (len(storm.runs), len(storm.queue))
    assert all(line["op"] in ("phase",) for peer in peers for line in peer.lines)


def test_arrivals_in_parallel_are_let_in_exactly(world):
    one = serving(world, **limited(5, 7))
    peers = [one.peer(name=f"p{number}") for number in range(10)]
    for number, peer in enumerate(peers):
        for turn in range(10):
            peer.send("request.begin", id=f"{number}-{turn}", admit=True)
    answers = {"admitted": [], "rejected": []}

    def collect():
        select.select([peer._socket for peer in peers], [], [], 0.05)
        for peer in peers:
            peer._read(0.001)
            for line in peer.lines:
                if line["op"] in answers:
                    answers[line["op"]].append((peer, line["id"]))
            peer.lines.clear()

    wait_until(lambda: collect() or len(answers["rejected"]) == 100 - 12, "every refusal")
    assert len(answers["admitted"]) == 5
    ended = 0
    while ended < 12:
        wait_until(lambda: collect() or len(answers["admitted"]) > ended, "the next grant")
        assert len(answers["admitted"]) - ended <= 5
        peer, name = answers["admitted"][ended]
        peer.ask("request.end", id=name, outcome="completed")
        ended += 1
        for line in peer.lines:
            if line["op"] in answers:
                answers[line["op"]].append((peer, line["id"]))
        peer.lines.clear()
    state = admission(one)
    assert (state["running"], state["waiting"]) == (0, 0)
    assert len(answers["admitted"]) == 12
    assert len(answers["rejected"]) == 88
