"""A constant load on a release, and what happens under it."""

import contextlib
import json
import threading

from client import wait_until

# Under load the endpoints change late, and clients follow them late: this is as long as the grace
# allows.
PATIENT = {"shutdown": {"late_accept": "7s"}}


@contextlib.contextmanager
def followed(release, number, targets):
    """Keeps a load on the endpoints that are given, as soon as they are."""
    over = threading.Event()

    def push():
        while not over.wait(0.1):
            release.client.send(op="targets", id=number, targets=targets())

    pushing = threading.Thread(target=push)
    pushing.start()
    try:
        yield
    finally:
        over.set()
        pushing.join()


def loaded(release, change, done, targets=None, **body):
    """Sums of a constant load while `change` happens; `targets`: not the cluster's endpoints."""
    number, answers = release.client.send(
        op="load", path="/v1/chat/completions", body={"max_tokens": 10, **body}, pause=0.05
    )
    targets = targets or release.targets
    with followed(release, number, targets):
        wait_until(targets, "endpoints")
        change()
        wait_until(done, "the end of the change", patience=170, pause=0.5)
    release.client.send(op="finish", id=number)
    return answers.next()


def roll_out(release):
    changed = {"spec": {"template": {"metadata": {"annotations": {"turn": "2"}}}}}
    release.kubectl("patch", "deployment", "x-lastcall", "-p", json.dumps(changed))


def rolled_out(release, old):
    """None of the old pods is left, not even on its way."""
    names = release.names()
    return len(names) == len(old) and not names & old
