"""Writes lastcall.1 and lastcall-shim.1 from docs/cli.md: one source for the page and the manuals.

    docs/man/generate.py          writes both
    docs/man/generate.py --check  ends with 1 if one of them is stale

It knows the Markdown of that page and no more: headings, paragraphs, tables, fences, code, links.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent / "cli.md"
SHIM_HEADING = "lastcall-shim"
SUMMARIES = {
    "lastcall": "the lifecycle sidecar for LLM engines on Kubernetes",
    "lastcall-shim": "owns the signals, the exit code and the deadline of an engine",
}
SYNOPSES = {
    "lastcall": ["lastcall SUBCOMMAND [OPTION]...", "lastcall run [OPTION]... -- COMMAND..."],
    "lastcall-shim": ["lastcall-shim [OPTION]... -- COMMAND [ARGUMENT]..."],
}


def plain(text):
    """Text as roff takes it literally: a backslash, a leading dot or quote would be commands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def inline(text):
    """Code is bold, emphasis italic, a link to another page its words."""
    text = text.replace("\\|", "|")
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)", text)
    out = []
    for part in parts:
        if part.startswith("`"):
            out.append(f"\\fB{plain(part[1:-1])}\\fR")
        elif part.startswith("**"):
            out.append(f"\\fB{plain(part[2:-2])}\\fR")
        elif part.startswith("*") and len(part) > 2:
            out.append(f"\\fI{plain(part[1:-1])}\\fR")
        else:
            out.append(plain(part))
    return "".join(out)


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


def table(rows):
    """Each row is an entry: its first cell the term, the others the text."""
    head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    out = []
    for term, *texts in body:
        out += [".TP", inline(term)]
        said = []
        for name, text in zip(head[1:], texts, strict=True):
            named = name.lower() in ("its own options", "read by")
            said += [f"{name}: {text}" if named else text] if text else []
        out.append(inline(". ".join(said)) if said else "\\&")
    return out


def blocks(lines):
    """(kind, lines) of a section."""
    block, kind = [], None
    for line in [*lines, ""]:
        fence = line.startswith("```")
        if kind == "fence":
            if fence:
                yield kind, block
                block, kind = [], None
            else:
                block.append(line)
            continue
        now = "fence" if fence else "table" if line.startswith("|") else "text" if line else None
        if now != kind and block:
            yield kind, block
            block = []
        kind = now
        if now in ("table", "text"):
            block.append(line)


def roff(lines):
    out = []
    for kind, block in blocks(lines):
        if kind == "table":
            out += table(block)
        elif kind == "fence":
            out += [".PP", ".EX", *map(plain, block), ".EE"]
        else:
            out += [".PP", inline(" ".join(block))]
    return out


def sections(text):
    """[(heading, lines)]; what stands before the first heading has an empty one."""
    found = [("", [])]
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        if line.startswith("## "):
            found.append((line[3:], []))
        else:
            found[-1][1].append(line)
    return found


def page(name, parts):
    out = [
        '.\\" Generated from docs/cli.md by docs/man/generate.py. Do not edit.',
        f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "lastcall" "User Commands"',
        ".SH NAME",
        f"{plain(name)} \\- {plain(SUMMARIES[name])}",
        ".SH SYNOPSIS",
    ]
    for synopsis in SYNOPSES[name]:
        out += [".PP", f"\\fB{plain(synopsis)}\\fR"]
    for heading, lines in parts:
        title = heading.upper() or "DESCRIPTION"
        out += [f'.SH "{title}"', *roff(lines)]
    other = next(other for other in SUMMARIES if other != name)
    out += [".SH SEE ALSO", f"\\fB{plain(other)}\\fR(1)"]
    # A paragraph mark right after a heading means nothing, and checkers say so.
    text = re.sub(r"^(\.SH .*)\n\.PP\n", r"\1\n", "\n".join(out) + "\n", flags=re.MULTILINE)
    return text


def pages():
    parts = sections(SOURCE.read_text(encoding="utf-8"))
    shared = [part for part in parts if part[0] == "Environment"]
    shim = [("OPTIONS", lines) for heading, lines in parts if heading == SHIM_HEADING]
    mine = [part for part in parts if part[0] != SHIM_HEADING]
    return {
        "lastcall.1": page("lastcall", mine),
        "lastcall-shim.1": page("lastcall-shim", shim + shared),
    }


def main():
    stale = []
    for name, text in pages().items():
        path = HERE / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    for name in stale:
        print(f"docs/man/{name} is stale: run docs/man/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
