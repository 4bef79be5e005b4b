#!/usr/bin/env python3
"""The names that docs/stability.md promises, from pages that are generated or held to the code.

    stable_surface.py           prints what was added and what is gone
    stable_surface.py --write   adds the new ones to stable_surface.json
    stable_surface.py --remove  and takes out those that are gone
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_suffix(".json")


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def keys_of(schema, above=""):
    """Keys with dots, of objects and of what lists hold."""
    found = []
    for part in [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        for name, inner in part.get("properties", {}).items():
            found += [above + name, *keys_of(inner, f"{above}{name}.")]
        if isinstance(part.get("items"), dict):
            found += keys_of(part["items"], above[:-1] + "[].")
    return found


def section(page, heading):
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text(page), re.M | re.S)[1]


def terms(table):
    """The names in the first cell of each row."""
    return re.findall(r"^\| `([^`|]+)`", table, re.MULTILINE)


def surface():
    cli = text("docs/cli.md")
    ipc = text("docs/ipc.md")
    found = {
        "configuration": keys_of(json.loads(text("docs/config.schema.json"))),
        "chart": keys_of(json.loads(text("charts/lastcall/values.schema.json"))),
        "exit codes": re.findall(r"^\| (\d+) \|", section("docs/operations.md", "Exit codes"),
                                 re.MULTILINE),
        "metrics": [name for name in terms(text("docs/metrics.md")) if "_" in name],
        "messages": re.findall(r"^### ([a-z_.]+)$", ipc, re.MULTILINE),
        "error codes": [t for t in terms(ipc) if re.fullmatch("[a-z_]+", t)],
        "subcommands": [t.split()[1] for t in terms(cli) if t.startswith("lastcall ")],
        "flags": re.findall(r"`(--[a-z-]+)", cli),
        "json": [f"{row[0]}.{key}"
                 for row in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", section(
                     "docs/cli.md", "Output as JSON"), re.MULTILINE)
                 for key in re.findall(r"`([a-z_]+)`", row[1])],
    }  # fmt: skip
    return {name: sorted(set(values)) for name, values in found.items()}


def differences():
    """({surface: names that are gone}, {surface: names that are new})"""
    known, now = json.loads(GOLDEN.read_text()), surface()
    gone = {s: sorted(set(v) - set(now.get(s, ()))) for s, v in known.items()}
    new = {s: sorted(set(v) - set(known.get(s, ()))) for s, v in now.items()}
    return ({s: v for s, v in gone.items() if v}, {s: v for s, v in new.items() if v})


def main():
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    now = surface()
    if "--remove" not in sys.argv:
        now = {s: sorted({*known.get(s, ()), *v}) for s, v in now.items()}
    if "--write" in sys.argv or "--remove" in sys.argv:
        GOLDEN.write_text(json.dumps(now, indent=1) + "\n")
    gone, new = differences()
    for words, names in (("gone", gone), ("new", new)):
        for where, values in names.items():
            print(f"{words}: {where}: {', '.join(values)}")
    return 1 if gone or new else 0


if __name__ == "__main__":
    sys.exit(main())
