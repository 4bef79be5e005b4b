"""A figure that was measured, what it is compared with, and the tables that are printed.

A figure is in one unit throughout: value, peer, bound. `met` is None where there is no target.
"""

import statistics
from dataclasses import asdict, dataclass, field


class NotMeasured(Exception):
    """Something that a figure needs is missing or did not happen; the message names it."""


@dataclass
class Figure:
    name: str
    unit: str
    value: float
    spread: float = 0.0  # half of the range between the quartiles, as a share of the value
    peers: dict = field(default_factory=dict)  # name: figure
    before: float | None = None  # of the build that is compared with
    bound: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self):
        if self.bound is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def ratio(self):
        """To the best of the peers."""
        best = (max if self.at_least else min)(self.peers.values(), default=None)
        return self.value / best if best else None

    def as_json(self):
        return {**asdict(self), "met": self.met, "ratio": self.ratio}


def middle(values):
    return statistics.median(values)


def spread(values):
    """Half of the range between the quartiles, as a share of the median: how noisy it was."""
    if len(values) < 4 or not middle(values):
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / abs(middle(values))


def figure(name, unit, samples, **more):
    """The median of what the rounds gave."""
    return Figure(name=name, unit=unit, value=middle(samples), spread=spread(samples), **more)


def number(value):
    if value is None:
        return "-"
    if value == int(value) and abs(value) >= 1 or value == 0:
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _row(item):
    met = {True: "yes", False: "NO", None: ""}[item.met]
    sign = ">=" if item.at_least else "<="
    return [
        item.name,
        f"{number(item.value)} {item.unit}".rstrip(),
        f"{item.spread:.0%}" if item.spread else "",
        f"{number(item.before)} ({item.value / item.before:.2f})" if item.before else "",
        ", ".join(f"{name} {number(value)}" for name, value in item.peers.items()),
        f"{item.ratio:.2f}" if item.ratio else "",
        f"{sign} {number(item.bound)}" if item.bound is not None else "",
        met,
    ]


def of_peers(results):
    """({peer: figure}, that of the build before or None) of {name: samples}."""
    peers = {name: middle(taken) for name, taken in results.items() if name != "lastcall"}
    return peers, peers.pop("before", None)


HEAD = ["figure", "lastcall", "+-", "before", "peers", "ratio", "target", "met"]


def table(title, figures, missing):
    """Text of one topic: a row a figure, then the notes, then what could not be measured."""
    rows = [HEAD] + [_row(item) for item in figures]
    if not any(item.before for item in figures):
        rows = [[cell for cell, head in zip(row, HEAD) if head != "before"] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    lines = [f"== {title}"]
    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines += [f"   {item.name}: {item.note}" for item in figures if item.note]
    lines += [f"   not measured: {name}: {why}" for name, why in missing]
    return "\n".join(lines)
