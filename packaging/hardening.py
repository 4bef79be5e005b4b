#!/usr/bin/env python3
"""Says what of a program is not hardened as a release has to be: hardening.py PROGRAM...

Read from the file itself, so that what ships is what is checked: a position-independent executable
(a static one too), relocations that are read-only once it runs and all resolved before, no
executable stack, no segment that is writable and executable, no search path for libraries, no
relocation of code; and in one that the C library is a library of, canaries. Checked calls are asked
of all of the programs together: a small one may have no call that the compiler has to check.

The mark for control-flow enforcement is not asked of a program, only of what is compiled: Debian
12's own crt1.o has none, and a linker marks a program only where every part of it is marked.
"""

import re
import subprocess
import sys


def readelf(options, path):
    done = subprocess.run(["readelf", "-W", options, path], capture_output=True, text=True)
    if done.returncode or "Error:" in done.stderr:
        raise SystemExit(f"hardening.py: cannot read {path}: {done.stderr.strip()}")
    return done.stdout


def segments(path):
    """[(type, flags)]"""
    return re.findall(r"^\s+([A-Z_]+)\s+(?:0x\w+\s+){5}([RWE ]{3})", readelf("-l", path), re.M)


def problems_of(path):
    """What is wrong with one program, in words."""
    found = []
    header, dynamic, parts = readelf("-h", path), readelf("-d", path), segments(path)
    kinds = dict(parts)
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1|BIND_NOW)\)(.*)", dynamic))
    if not re.search(r"Type:\s+DYN", header) or not re.search(r"\bPIE\b", flags):
        found.append("is not position-independent")
    if "GNU_RELRO" not in kinds:
        found.append("has relocations that stay writable (no GNU_RELRO)")
    if not re.search(r"\b(NOW|BIND_NOW)\b", flags) and "(BIND_NOW)" not in dynamic:
        found.append("resolves symbols while it runs (no BIND_NOW)")
    if "E" in kinds.get("GNU_STACK", "E"):
        found.append("has an executable stack")
    if any("W" in flag and "E" in flag for _, flag in parts):
        found.append("has a segment that is writable and executable")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        found.append("looks for libraries along a path of its own")
    if "(TEXTREL)" in dynamic:
        found.append("has relocations in its code")
    if "(NEEDED)" in dynamic:
        symbols = readelf("--dyn-syms", path)
        if "__stack_chk_fail" not in symbols:
            found.append("has no canaries on its stack")
        if "__glibcxx_assert_fail" not in symbols and "libstdc++" in dynamic:
            found.append("does not check the C++ library's preconditions")
    return found


def has_checked_calls(path):
    symbols = readelf("--dyn-syms", path).replace("__stack_chk_fail", "")
    return re.search(r"\b__\w+_chk\b", symbols) is not None


def problems(*paths):
    """What is wrong with programs that were made with the same options."""
    found = [f"{path} {problem}" for path in paths for problem in problems_of(path)]
    dynamic = [path for path in paths if "(NEEDED)" in readelf("-d", path)]
    if dynamic and not any(has_checked_calls(path) for path in dynamic):
        names = " ".join(map(str, dynamic))
        found.append(f"{names} calls nothing of the C library in its checked form")
    return found


def main(paths):
    if not paths:
        raise SystemExit(__doc__)
    found = problems(*paths)
    print("\n".join(found or [f"hardened: {' '.join(paths)}"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
