#!/usr/bin/env python3
"""Puts the schema of lastcall's configuration into the chart's, so that typos in `config` fail too.

    python3 charts/embed_schema.py [--check]

Run it after docs/config.schema.json has changed; --check only tells whether it has to be run.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VALUES = ROOT / "charts/lastcall/values.schema.json"
CONFIG = ROOT / "docs/config.schema.json"


def embedded(values, config):
    """The chart's schema with the configuration's in it, which names no dialect of its own."""
    part = {key: value for key, value in config.items() if key not in ("$schema", "title")}
    properties = {**values["properties"], "config": part}
    return {**values, "properties": properties}


def main():
    old = VALUES.read_text()
    new = json.dumps(embedded(json.loads(old), json.loads(CONFIG.read_text())), indent=2) + "\n"
    if old == new:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{VALUES} is not up to date: run charts/embed_schema.py", file=sys.stderr)
        return 1
    VALUES.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
