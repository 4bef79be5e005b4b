"""An engine whose every step waits for a file, so that a phase lasts until the test lets it go.

usage: held_engine.py DIRECTORY [request] [term]

request   one request is in flight until DIRECTORY/finish exists
term      TERM is obeyed only once DIRECTORY/go exists
Registered by itself, it confirms that it has left once DIRECTORY/left exists. `up`, `asked` and
`ended` are written when it runs, is asked to deregister, and is asked to end.
"""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../sdk/python"))
import lastcall  # noqa: E402

DIRECTORY = sys.argv[1]


def path(name):
    return os.path.join(DIRECTORY, name)


def wait_until(name):
    while not os.path.exists(path(name)):
        time.sleep(0.01)


def mark(name):
    open(path(name), "w").close()


def terminated(_number, _frame):
    mark("ended")
    if "term" in sys.argv[2:]:
        wait_until("go")
    os._exit(0)


def main():
    client = lastcall.connect("held")
    client.register_endpoint("generate")

    @client.on_deregister
    def leave():
        mark("asked")
        wait_until("left")

    signal.signal(signal.SIGTERM, terminated)
    if "request" in sys.argv[2:]:
        with client.request("r", endpoint="generate"):
            mark("up")
            wait_until("finish")
    mark("up")
    while True:
        signal.sigtimedwait((), 0.1)  # a signal just before a pause() would not end that


main()
