"""Heads of 32 kB, from the descriptions that the fuzz target head_work starts from.

The first lines of fuzz_head_work.cpp explain what a description means.
"""

from pathlib import Path

SHAPES = Path(__file__).parent.parent / "tests/fuzz/corpus/head_work"
PLAINEST = "plain-one-long-value"
SIZE, LONGEST_TARGET = 32_000, 8_192  # bytes; the limit of a head is 32 768


def _parts(line, count):
    parts = line.split(b"|", count - 1)
    return parts + [b""] * (count - len(parts))


def _repeated(unit, size):
    return unit * (max(size, 0) // len(unit)) if unit else b""


def expand(description):
    """The head that a description stands for."""
    target, *lines = description.split(b"\n")
    begin, unit, end = _parts(target, 3)
    path = begin + _repeated(unit, LONGEST_TARGET - len(begin) - len(end)) + end
    head = b"GET " + path + b" HTTP/1.1\r\n"
    crowds = []
    for line in lines:
        count, begin, unit, end = _parts(line, 4)
        crowds.append((int(count), begin, unit, end))
    fixed = len(head) + 2 + sum(n * (len(begin + end) + 2) for n, begin, _, end in crowds)
    growing = sum(n for n, _, unit, _ in crowds if unit)
    share = (SIZE - fixed) // growing if growing else 0
    for count, begin, unit, end in crowds:
        for number in range(count):
            named = begin.replace(b"#", str(100 + number).encode(), 1)
            head += named + _repeated(unit, share) + end + b"\r\n"
    fill = SIZE - len(head) - len(b"X-Fill: \r\n\r\n")
    if fill > 0:
        head += b"X-Fill: " + b"a" * fill + b"\r\n"
    return head + b"\r\n"


def heads():
    """{what: bytes}, the plainest first."""
    names = sorted(path.name for path in SHAPES.iterdir())
    names.sort(key=PLAINEST.__ne__)
    return {name: expand((SHAPES / name).read_bytes()) for name in names}
