#!/usr/bin/python3
"""Measures a release build against its targets and its peers: `./dev bench`, or

    bench/run.py BUILD [--quick] [--threads N] [--before BUILD] [--json FILE] [TOPIC...]

One table a topic. Nothing here fails because a figure is bad: the exit code is 0, or 1 if something
could not be measured. README.md says what is measured and how to read it.
"""

import argparse
import json
import subprocess
import sys
import time
import traceback

import cancel_topic
import core_topic
import discovery_topic
import hostile_topic
import ingress_topic
import ipc_topic
import router_topic
import shim_topic
import stop_topic
import supervisor_topic
from bench import Bench, machine, missing_programs, put_first
from figures import NotMeasured, table

TOPICS = {
    "shim": shim_topic,
    "supervisor": supervisor_topic,
    "stop": stop_topic,
    "discovery": discovery_topic,
    "ipc": ipc_topic,
    "cancel": cancel_topic,
    "core": core_topic,
    "ingress": ingress_topic,
    "hostile": hostile_topic,
    "router": router_topic,
}
LONGEST = {False: 420, True: 55}  # seconds after which nothing new is begun, by --quick


def parse(arguments):
    parser = argparse.ArgumentParser(description="benchmarks of a release build of lastcall")
    parser.add_argument("build", help="its folder, build/release for example")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)}")
    parser.add_argument("--quick", action="store_true", help="less of everything: under a minute")
    parser.add_argument("--threads", type=int, default=1, metavar="N",
                        help="of each proxy of the topic ingress; 1")  # fmt: skip
    parser.add_argument("--before", metavar="BUILD", help="another release build, whose proxy is "
                        "measured in the same rounds, in the topics ingress and hostile")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_intermixed_args(arguments)
    unknown = set(options.topics) - set(TOPICS)
    if unknown:
        parser.error(f"no topic is called '{unknown.pop()}'; there are {', '.join(TOPICS)}")
    if missing := missing_programs(options.build):
        parser.error(f"{options.build} lacks {', '.join(missing)}; ./dev bench builds all of it")
    return options


def measure(bench, topic, until):
    """(figures, [(name, why)]) of one topic; a measurement that fails takes no other with it."""
    figures, missing = [], []
    for measurement in topic.MEASUREMENTS:
        if time.monotonic() > until:
            missing.append((measurement.__name__, "out of time"))
            continue
        try:
            figures += measurement(bench)
        except NotMeasured as why:
            missing.append((measurement.__name__, str(why)))
        except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            traceback.print_exc()
            missing.append((measurement.__name__, f"{type(error).__name__}: {error}"))
    return figures, missing


def main(arguments):
    options = parse(arguments)
    facts = {**machine(), "real_time": put_first()}
    print(f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, load {facts['load']}, "
          f"{'real-time' if facts['real_time'] else 'ordinary'} priority\n"
          "medians of alternated rounds; +- is half the range between the quartiles\n",
          flush=True)  # fmt: skip
    until = time.monotonic() + LONGEST[options.quick]
    bench = Bench(options.build, options.quick, options.threads, options.before)
    results, complete = {}, True
    try:
        for name in options.topics or TOPICS:
            figures, missing = measure(bench, TOPICS[name], until)
            print(table(TOPICS[name].TITLE, figures, missing) + "\n", flush=True)
            complete = complete and not missing
            results[name] = {"figures": [item.as_json() for item in figures],
                             "not_measured": [list(pair) for pair in missing]}  # fmt: skip
    finally:
        bench.close()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            document = {"machine": facts, "quick": options.quick, "threads": options.threads,
                        "topics": results}
            json.dump(document, file, indent=1)
            file.write("\n")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
