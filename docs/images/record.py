#!/usr/bin/env python3
"""Makes docs/images/stop.svg: the demonstration's own lines, each at the moment at which it came.

    record.py LASTCALL        `./dev record` builds it and calls this

The picture plays at a quarter of the stop's speed and begins again after a pause. Where animations
are off it shows the last state. Only the standard library.
"""

import html
import subprocess
import sys
import textwrap
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "examples/demo_engine/demo.py"
COLUMNS, LINE, SIZE, MARGIN = 104, 18, 13, 14
INDENT = 22  # of what does not fit into its row: below the words, right of who says them
SLOWER = 4
PAUSE = 6.0  # seconds with everything in view
STYLE = """
text { font: %dpx ui-monospace, monospace; fill: #1f2328; white-space: pre }
.frame { fill: #f6f8fa; stroke: #d1d9e0 }
.signal { fill: #cf222e } .good { fill: #1a7f37 } .told { fill: #9a6700 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .frame { fill: #0d1117; stroke: #3d444d }
  .signal { fill: #f85149 } .good { fill: #3fb950 } .told { fill: #d29922 }
}
@media (prefers-reduced-motion: no-preference) { g { animation: %.1fs step-end infinite } }
""" % (SIZE, 0)


def play(lastcall):
    """[(seconds from the first line, line)] of the timeline and the verdict."""
    command = [sys.executable, "-B", str(DEMO), lastcall]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    began, lines, in_report = None, [], False
    for line in demo.stdout:
        now = time.monotonic()
        began = began or now
        in_report = in_report or line.startswith("drain report")
        if line.strip() and (not in_report or line.startswith("clean:")):
            lines.append(((now - began) * SLOWER, line.rstrip()))
    if demo.wait() != 0:
        sys.exit(f"record.py: the demonstration ended with {demo.returncode}")
    return lines


def kind(line):
    if line.startswith("clean:"):
        return "good"
    if "SIGTERM" in line:
        return "signal"
    if any(word in line for word in ("handed off", "refused")):
        return "told"
    return "good" if "complete" in line else ""


def rows_of(line):
    """The line as it is, or broken between words into rows that fit."""
    return textwrap.wrap(line, COLUMNS, subsequent_indent=" " * INDENT, break_on_hyphens=False)


def picture(lines):
    total = lines[-1][0] + PAUSE
    height = sum(len(rows_of(line)) for _, line in lines) * LINE + 2 * MARGIN
    width = COLUMNS * SIZE * 0.602 + 2 * MARGIN
    frames, rows, place = [], [], 0
    for number, (at, line) in enumerate(lines):
        share = 100 * at / total
        steps = f"0% {{ opacity: 0 }} {share:.2f}% {{ opacity: 1 }}"
        frames.append(f"@keyframes l{number} {{ {steps} }}")
        texts = []
        for words in rows_of(line):
            y = MARGIN + (place + 0.75) * LINE
            texts.append(f'<text class="{kind(line)}" x="{MARGIN}" y="{y:.0f}">'
                         f"{html.escape(words)}</text>")  # fmt: skip
            place += 1
        rows.append(f'<g style="animation-name: l{number}">{"".join(texts)}</g>')
    style = STYLE.replace("0.0s", f"{total:.1f}s") + "\n".join(frames)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">',
        "<title>A stop of the demonstration engine, as `./dev run` shows it</title>",
        f"<style>{style}</style>",
        f'<rect class="frame" x="1" y="1" width="{width - 2:.0f}" height="{height - 2}" rx="8"/>',
        *rows, "</svg>", "",
    ])  # fmt: skip


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} LASTCALL")
    (HERE / "stop.svg").write_text(picture(play(sys.argv[1])))


if __name__ == "__main__":
    main()
