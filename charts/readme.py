#!/usr/bin/env python3
"""Writes the README of each chart from its values.yaml: keys, defaults, and their comments.

    python3 charts/readme.py [--check]

Run it after a values.yaml has changed; --check only reports whether it has to be run.
"""

import re
import sys
import textwrap
from pathlib import Path

import yaml

CHARTS = Path(__file__).resolve().parent
PAGES = {
    "lastcall": "An engine with lastcall beside it: [how it is used](../../README.md), "
    "[what follows from the values](../../docs/operations.md#the-chart).",
    "lastcall-injector": "lastcall in pods that ask for it by a label: "
    "[docs/injection.md](../../docs/injection.md#by-a-label).",
    "lastcall-lib": "Templates for the pods of any chart: "
    "[docs/injection.md](../../docs/injection.md#by-the-library-chart). It has no values of its "
    "own: `lastcall-lib.inject` takes what differs from the defaults in `templates/_inject.tpl`.",
}
KEY = re.compile(r"^( *)([A-Za-z]\w*):(.*)$")
DEPTH = 2  # of nesting that gets rows of its own


def rows(text):
    """(key, comment) of each key, in the order of the file."""
    comment, path, found = [], [], []
    for line in text.splitlines():
        bare = line.strip()
        match = KEY.match(line)
        if bare.startswith("#"):
            comment.append(bare.removeprefix("#").strip())
        elif match:
            depth = len(match[1]) // 2
            path[depth:] = [match[2]]
            if depth < DEPTH:
                found.append((".".join(path), " ".join(comment)))
            comment = []
        elif not bare:
            comment = []  # of the file or of a group, not of the next key
    return found


def default_of(values, key):
    for part in key.split("."):
        values = values[part]
    text = yaml.safe_dump(values, default_flow_style=True, width=10**6).removesuffix("...\n")
    return text.strip()


def page(name):
    chart = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
    lines = [f"# {name}", "", "<!-- Written by charts/readme.py. Do not edit. -->", ""]
    lines += [chart["description"] + ".", "", textwrap.fill(PAGES[name], 120), ""]
    file = CHARTS / name / "values.yaml"
    if file.exists():
        text = file.read_text()
        values = yaml.safe_load(text)
        lines += ["| Key | Default | Meaning |", "|---|---|---|"]
        for key, comment in rows(text):
            default = default_of(values, key)
            is_group = any(other.startswith(key + ".") for other, _ in rows(text))
            shown = "" if is_group else f"`{default}`".replace("|", "\\|")
            lines.append(f"| `{key}` | {shown} | {comment.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    stale = []
    for name in PAGES:
        file = CHARTS / name / "README.md"
        new = page(name)
        if not file.exists() or file.read_text() != new:
            stale.append(str(file))
            if "--check" not in sys.argv[1:]:
                file.write_text(new)
    if stale and "--check" in sys.argv[1:]:
        print(f"not up to date: {', '.join(stale)}; run charts/readme.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
