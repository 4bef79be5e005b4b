"""The flags of engine_sim. Those in LIVE_SETTINGS can be changed while it runs."""

import argparse

from sim_metrics import MODES, NAMES

LIVE_SETTINGS = ("rate", "lie", "slow_health", "health_status", "ignore_term", "ignore_cancel",
                 "drain_on_term", "term_exit_code", "metrics", "slow_metrics", "prefill",
                 "completions_status", "sleeping", "paused")  # fmt: skip


def parse(arguments):
    parser = argparse.ArgumentParser(description="a test engine")
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0)
    add("--port-file", help="written once it listens")
    add("--rate", type=float, default=50.0, help="tokens a second, of each stream")
    add("--max-running", type=int, default=0, help="more than these wait; 0: no limit")
    add("--startup-delay", type=float, default=0.0, help="before it listens")
    add("--hang-after", type=float)
    add("--hang", choices=("health", "tokens", "core", "all", "process"), default="all")
    add("--lie", action="store_true", help="/health says 200 whatever hangs")
    add("--slow-health", type=float, default=0.0)
    add("--health-status", type=int, default=200)
    add("--kind", choices=tuple(NAMES), default="vllm", help="whose gauges it has")
    add("--metrics", choices=MODES, default="true", help="what they say")
    add("--slow-metrics", type=float, default=0.0)
    add("--late-gauges", action="store_true", help="set by a step that came back, as vLLM's are")
    add("--prefill", type=float, default=0.0, help="seconds of a request of more than one token")
    add("--prefill-steps", type=int, default=1, help="it takes so many steps of the core")
    add("--load-tracking", action="store_true", help="/load counts; otherwise it says 0 for ever")
    add("--api-servers", type=int, default=1, help="with more, /load and the gauges are of several")
    add("--dp-ranks", action="store_true", help="SGLang's gauges are of two data-parallel ranks")
    add("--no-rank-header", action="store_true", help="it takes no request for one rank")
    add("--sleeping", action=argparse.BooleanOptionalAction, help="/is_sleeping; unset: none")
    add("--paused", action=argparse.BooleanOptionalAction, help="/is_paused; unset: none")
    add("--completions-status", type=int, default=0,
        help="what completions are refused with; 200: they are answered with nothing")
    add("--exit-after", type=float)
    add("--exit-code", type=int, default=0)
    add("--crash", choices=("segv", "abort", "kill"), help="instead of an exit after --exit-after")
    add("--dies-of", default="", help="a request with this text in it ends the process by KILL")
    add("--dies-at", type=int, default=0, help="behind so many tokens of that request")
    add("--ignore-term", action="store_true")
    add("--drain-on-term", action="store_true", help="finish what runs; otherwise it is cut off")
    add("--abort-on-term", action="store_true",
        help="what runs ends as if it were whole, with finish_reason abort: vLLM, mostly")
    add("--linger-on-term", action="store_true",
        help="its core ends, and it waits for its open connections: vLLM, now and then")
    add("--term-exit-code", type=int, default=0)
    add("--workers", type=int, default=0)
    add("--core", action="store_true", help="a child generates: without it requests get errors")
    add("--core-death-unseen", type=float, default=0.0, help="seconds until /health says so")
    add("--setsid-workers", action="store_true")
    add("--leak-workers", action="store_true", help="workers outlive the main process")
    add("--workers-ignore-term", action="store_true")
    add("--sdk", action="store_true", help="take part through $LASTCALL_SOCKET")
    add("--name", default="engine_sim")
    add("--critical", action="store_true")
    add("--admit", action="store_true", help="ask for admission of each request")
    add("--ignore-cancel", choices=("stop", "all"), help="go on generating when cancelled")
    add("--cleanup-delay", type=float, default=0.0, help="of the SDK's cleanup callback")
    add("--log-signals", help="file: monotonic ms, pid, name of each signal")
    add("--trace", help="file of JSON lines: start, end, cancel, signal, ...")
    add("--worker", action="store_true", help=argparse.SUPPRESS)
    add("--title", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)
