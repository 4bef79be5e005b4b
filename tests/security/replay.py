#!/usr/bin/python3
"""Replays what is known to have hurt, against the real programs: `tests/security/replay.py`, or

    LASTCALL_BUILD_DIR=build/release tests/security/replay.py [--point N]...

One row a case: what lastcall answers, and beside it what nginx and HAProxy answer to the same. The
exit code is 1 where a case does not hold for lastcall; how the others answer changes nothing. They
are left out where they are not installed.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

import neighbour_cases
import pod_cases
import wire_cases
from stage import Stage


class Table:
    """Markdown, row by row as they come."""

    def __init__(self):
        self.failed = 0
        print("| Point | Case | lastcall | nginx | HAProxy | |\n|---|---|---|---|---|---|")

    def row(self, point, title, answers, why):
        self.failed += bool(why)
        cells = [point, title, *answers, f"DOES NOT HOLD: {why}" if why else "holds"]
        print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |", flush=True)


def replay_wire(stage, table, is_wanted):
    cases = [case for case in wire_cases.all_cases() if is_wanted(case.point)]
    proxies = stage.all_three() if cases else []
    with ThreadPoolExecutor(len(proxies) or 1) as pool:
        for case in cases:
            asked = [proxy and pool.submit(proxy.ask, case.data) for proxy in proxies]
            results = [each and each.result() for each in asked]
            texts = [f"{each[0]}, {len(each[1])} at the engine" if each else "-"
                     for each in results]  # fmt: skip
            table.row(case.point, case.title, texts, case.breaks(*results[0]))


def replay_pod(stage, table, is_wanted):
    for case in (*pod_cases.CASES, *neighbour_cases.CASES):
        if not is_wanted(case.point):
            continue
        try:
            found, why = case(stage), ""
        except (AssertionError, OSError) as error:
            found, why = "", str(error) or type(error).__name__
        answers = found if isinstance(found, list) else [found, "-", "-"]
        table.row(case.point, case.title, answers, why)


def main():
    parser = argparse.ArgumentParser(description="replays hostile cases against lastcall")
    parser.add_argument("--point", action="append", help="only cases of this number; repeatable")
    wanted = parser.parse_args().point
    with Stage() as stage:
        table = Table()
        for replay in (replay_pod, replay_wire):
            replay(stage, table, lambda point: not wanted or point in wanted)
    print(f"\n{table.failed} do not hold" if table.failed else "\nall hold")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
