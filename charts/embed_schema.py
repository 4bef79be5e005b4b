#!/usr/bin/env python3
"""Puts the schemas of the configurations into the chart's, so that typos in them fail too.

Lastcall's is `config`, the router's `router.config`.

    python3 charts/embed_schema.py [--check]

Run it after docs/config.schema.json or docs/router-config.schema.json has changed; --check only
reports whether it has to be run.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VALUES = ROOT / "charts/lastcall/values.schema.json"
CONFIG = ROOT / "docs/config.schema.json"
ROUTER = ROOT / "docs/router-config.schema.json"


def part_of(file):
    """A configuration's schema; as a part it names no dialect of its own."""
    whole = json.loads(file.read_text())
    return {key: value for key, value in whole.items() if key not in ("$schema", "title")}


def embedded(values):
    """The chart's schema with those of the configurations in it."""
    router = values["properties"]["router"]
    router = {**router, "properties": {**router["properties"], "config": part_of(ROUTER)}}
    properties = {**values["properties"], "config": part_of(CONFIG), "router": router}
    return {**values, "properties": properties}


def main():
    old = VALUES.read_text()
    new = json.dumps(embedded(json.loads(old)), indent=2) + "\n"
    if old == new:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{VALUES} is not up to date: run charts/embed_schema.py", file=sys.stderr)
        return 1
    VALUES.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
