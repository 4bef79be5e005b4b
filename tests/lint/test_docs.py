"""Docs and programs say the same: subcommands, flags, exit codes, the verbs of ./dev, links."""

import re
import subprocess

import pytest
from lint_tree import PRODUCT, ROOT, check, files, finding, line_of, read

# What each code means, by the words that distinguish it from the others: for a text the first that
# fits.
OF_A_STOP = {
    137: "killed at the deadline",
    0: "^graceful stop",
    1: "^fatal",
    2: "^bad usage",
    126: "(not|cannot be) execut",
    127: "not found",
}
OF_A_SUBCOMMAND = {0: "^done", 1: "^no supervisor", 2: "^bad usage", 70: "^lastcall itself"}


def docs_text():
    pages = files(".md", under=("README.md", "CONTRIBUTING.md", "docs/"))
    return "\n".join(read(path) for path in pages)


def flags_of(help_text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", help_text))


def subcommands_of(help_text):
    """CLI11 lists them, indented, under 'Subcommands:'."""
    section = re.search(r"^Subcommands:\n((?:[ \t].*\n?|\n)*)", help_text, re.MULTILINE)
    return re.findall(r"^  ([a-z][\w-]*)", section.group(1), re.MULTILINE) if section else []


def undocumented(words, docs):
    """Words that the docs never write in code, `--grace` as a part of `--grace-ms` not counting."""
    return sorted(w for w in words if not re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", docs))


def commands_in(docs):
    """The commands that the docs give the reader: `lastcall WORD` in a code span or at a prompt.

    One log line of the product begins like a command and is quoted as it is.
    """
    call = r"lastcall (?!shutdown complete)([a-z][\w-]*)"
    fenced = re.findall(r"^```\w*\n(.*?)^```", docs, re.MULTILINE | re.DOTALL)
    at_prompt = re.findall(rf"^(?:\$ )?{call}", "\n".join(fenced), re.MULTILINE)
    return set(at_prompt) | set(re.findall(f"`{call}", docs))


def rows_of_codes(page, before):
    """(code, meaning) of the rows of the one table that follows these words."""
    [table] = re.findall(rf"{re.escape(before)}.*?\n((?:\|.*\n)+)", page, re.DOTALL)
    return [(int(code), text) for code, text in re.findall(r"(?m)^\| (\d+) \| (.*) \|$", table)]


def codes_by_meaning(rows, meanings):
    """Each row's own code, with the one that its words mean."""

    def meant(text):
        fits = (c for c, words in meanings.items() if re.search(words, text, re.IGNORECASE))
        return next(fits, None)

    return sorted((code, meant(text)) for code, text in rows)


def same_codes(meanings):
    return sorted((code, code) for code in meanings)


def flags_told(page):
    """[(subcommand, or nothing where none is named; flag)] of what a page writes in code."""
    reported = []
    for line in page.splitlines():
        row = re.match(r"\| `lastcall ([a-z][\w-]*)", line)
        code = " ".join(re.findall(r"`([^`]+)`", line))
        reported += [(row.group(1) if row else "", flag) for flag in sorted(flags_of(code))]
    return reported


def broken_links(path, text):
    """Relative links of Markdown files lead to files of the tree."""
    found = []
    folder = (ROOT / path).parent
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
                found.append(finding(path, number, f"links to {target}, which does not exist"))
    return found


def anchors(text):
    """What a link may name in this page: each heading, a repeated one with a number, and ids."""
    found = re.findall(r'<a id="([^"]+)"', text)
    for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        repeats = sum(1 for each in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", each))
        found.append(f"{name}-{repeats}" if repeats else name)
    return set(found)


def broken_anchors(path, text):
    """A link to a section of a Markdown file leads to a heading that is there."""
    found = []
    folder = (ROOT / path).parent
    for number, line in enumerate(text.splitlines(), 1):
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", line):
            page = folder / target
            page = page / "README.md" if target and page.is_dir() else page
            if not target:
                there = anchors(text)
            elif page.suffix == ".md" and page.exists():
                there = anchors(page.read_text(encoding="utf-8"))
            else:
                continue
            if anchor not in there:
                found.append(finding(path, number, f"{target}#{anchor}: no such heading"))
    return found


def missing_paths(path, text):
    """Files that a page names by a path from the top of the tree, or from its own folder."""
    kinds = "cpp|hpp|py|sh|md|yaml|json|jsonl|tpl|txt"
    names = rf"(?<![\w./-])([a-z]+/[\w./-]*\.(?:{kinds}))(?![\w*])"
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(names, line):
            known = {p.split("/", 1)[0] for p in files(".cpp", ".hpp", ".py", ".sh", ".md")}
            folder = (ROOT / path).parent
            if name.split("/", 1)[0] in known and not any(
                (root / name).exists() for root in (ROOT, folder)
            ):
                found.append(finding(path, number, f"names {name}, which does not exist"))
    return found


def machines():
    """The parts of the core that have a header and a source."""
    sources, headers = (
        {path[: -len(suffix)] for path in files(suffix, under=("core/",))}
        for suffix in (".cpp", ".hpp")
    )
    return sorted(path.rsplit("/", 1)[1] for path in sources & headers)


def unnamed(names, page):
    """Names that no code span of a page has, `admission*` and `admission.hpp` counting."""
    spans = {re.sub(r"(\*|\.[ch]pp)$", "", span) for span in re.findall(r"`([\w.*]+)`", page)}
    return [name for name in names if name not in spans]


def test_every_subcommand_is_documented(help_of):
    subcommands = subcommands_of(help_of("lastcall"))
    assert subcommands, "`lastcall --help` lists no subcommand"
    missing = undocumented([f"lastcall {name}" for name in subcommands], docs_text())
    assert not missing, f"in no document: {missing}"


def test_docs_name_no_subcommand_that_does_not_exist(help_of):
    ghosts = commands_in(docs_text()) - set(subcommands_of(help_of("lastcall")))
    assert not ghosts, f"documented, but unknown to lastcall: {sorted(ghosts)}"


def test_every_flag_of_lastcall_is_documented(help_of):
    flags = flags_of(help_of("lastcall"))
    for name in subcommands_of(help_of("lastcall")):
        flags |= flags_of(help_of("lastcall", name))
    missing = undocumented(flags - {"--help", "--help-all"}, docs_text())
    assert not missing, f"in no document: {missing}"


def test_every_variable_that_a_program_reads_is_documented():
    read_by = r'"((?:LASTCALL|POD|KUBERNETES)_[A-Z_]*[A-Z])[="]'
    sources = files(".cpp", ".py", under=(*PRODUCT, "sdk/python/lastcall/"))
    names = {name for path in sources for name in re.findall(read_by, read(path))}
    page = read("docs/cli.md")
    assert {"LASTCALL_SOCKET", "POD_IP"} <= names
    known = {name for name in names if name.startswith("LASTCALL_ASGI_") or f"`{name}`" in page}
    assert not names - known


def test_every_key_of_a_status_is_documented():
    keys = set(re.findall(r'json\["(\w+)"\]', read("supervisor/runtime/listener/status.cpp")))
    [row] = re.findall(r"(?m)^\| `status` \|.*$", read("docs/cli.md"))
    assert "admission" in keys and not undocumented(keys - {"next"}, row)  # that of `requests`


def test_every_flag_of_the_shim_is_documented(help_of):
    flags = flags_of(help_of("lastcall-shim"))
    assert flags, "`lastcall-shim --help` lists no flag"
    missing = undocumented(flags - {"--help"}, docs_text())
    assert not missing, f"in no document: {missing}"


@pytest.mark.parametrize("page", ["docs/operations.md"])
def test_every_exit_code_is_documented_with_its_meaning(page):
    rows = rows_of_codes(read(page), "The shim, and so the engine's container")
    assert codes_by_meaning(rows, OF_A_STOP) == same_codes(OF_A_STOP)


def test_exit_codes_of_the_subcommands_are_documented_with_their_meaning():
    rows = rows_of_codes(read("docs/cli.md"), "lists subcommands or options.")
    assert codes_by_meaning(rows, OF_A_SUBCOMMAND) == same_codes(OF_A_SUBCOMMAND)


def test_the_shim_has_the_same_exit_codes(help_of):
    [reported] = re.findall(r"Exit code: ([^.]*)\.", help_of("lastcall-shim"))
    rows = [re.match(r"(\d+) (.*)", part).groups() for part in re.split(r";\s+", reported)]
    rows = [(int(code), text) for code, text in rows]
    assert codes_by_meaning(rows, OF_A_STOP) == same_codes(OF_A_STOP)


def test_the_table_of_exit_codes_in_the_source_is_the_documented_one():
    """The codes that a stop can have; usage is named there as not from there."""
    text = re.sub(r"(?m)^//", "", read("core/exit_code.hpp"))
    rows = [(int(c), " ".join(t.split())) for c, t in re.findall(
        r"(?ms)^   (\d+) +(\D.*?)(?=^   \d)", text)]  # fmt: skip
    assert codes_by_meaning(rows, OF_A_STOP) == same_codes((0, 1, 126, 127, 137))


def test_the_page_of_flags_names_none_that_does_not_exist(help_of):
    subcommands = subcommands_of(help_of("lastcall"))
    known = {name: flags_of(help_of("lastcall", name)) for name in subcommands}
    any_of_lastcall = set().union(flags_of(help_of("lastcall")), *known.values())
    known[""] = any_of_lastcall | flags_of(help_of("lastcall-shim"))
    of_lastcall, of_the_shim = re.split(r"^## lastcall-shim$", read("docs/cli.md"), 1, re.M)
    ghosts = [(name, flag) for name, flag in flags_told(of_lastcall)
              if flag not in known[name] | {"--version"}]
    ghosts += [("shim", flag) for flag in flags_of(of_the_shim) if flag not in known[""]]
    assert not ghosts, f"documented, but in no --help: {ghosts}"


def test_links_lead_somewhere():
    check(broken_links, files(".md"))
    check(broken_anchors, files(".md"))


def test_files_that_the_docs_name_are_there():
    check(missing_paths, ["README.md", "CONTRIBUTING.md", *files(".md", under=("docs/", "sdk/"))])


def test_the_architecture_names_every_machine_of_the_core():
    [section] = re.findall(r"## What decides.*?(?=\n## )", read("docs/architecture.md"), re.DOTALL)
    assert "admission" in machines() and not unnamed(machines(), section)


def test_dev_lists_all_of_its_verbs():
    listed = subprocess.run([ROOT / "dev"], capture_output=True, text=True).stdout
    cases = read("dev").split("case $verb in", 1)[1]
    verbs = re.findall(r"^  ([a-z0-9]+)\)", cases, re.MULTILINE)
    assert {"build", "run", "test"} <= set(verbs)
    assert not undocumented(verbs, listed)


HELP = """lastcall
Options:
  -h,--help                   help
  --output TEXT:{json,text}
Subcommands:
  serve                       the supervisor
  wait-ready                  waits
"""


def test_help_is_read_right():
    assert subcommands_of(HELP) == ["serve", "wait-ready"]
    assert flags_of(HELP) == {"--help", "--output"}


def test_flags_are_read_by_subcommand():
    page = "| `lastcall drain` | stops | `--exit`: ends; `--timeout D` |\nWith `--output json`"
    assert flags_told(page) == [("drain", "--exit"), ("drain", "--timeout"), ("", "--output")]


def test_flags_that_the_docs_lack_are_found():
    assert undocumented({"--grace"}, "`--grace-ms`") == ["--grace"]
    assert undocumented({"--grace"}, "`--grace 60s`") == []
    docs = "Call `lastcall flush`.\nlastcall is it.\n```sh\n$ lastcall drain -x\nlastcall run\n```"
    assert commands_in(docs + "\n`lastcall shutdown complete`\n") == {"flush", "drain", "run"}


def test_exit_codes_that_changed_places_are_found():
    page = "Codes:\n\n| Code | Meaning |\n|---|---|\n| 1 | graceful stop |\n| 0 | fatal |\n\n"
    rows = rows_of_codes(page, "Codes:")
    assert rows == [(1, "graceful stop"), (0, "fatal")]
    assert codes_by_meaning(rows, OF_A_STOP) == [(0, 1), (1, 0)]
    assert codes_by_meaning([(2, "whatever")], OF_A_STOP) == [(2, None)]


def test_a_file_that_is_gone_is_found():
    assert missing_paths("docs/x.md", "run `tests/integration/no_such_test.py`")
    assert not missing_paths("docs/x.md", "see core/exit_code.hpp, `a/b.md`")
    assert unnamed(["admission", "budgets"], "`admission*`, `budget.hpp`") == ["budgets"]


def test_a_broken_link_is_found():
    assert broken_links("docs/x.md", "[gone](no-such-file.md)\n")
    assert not broken_links("README.md", "[the licence](LICENSE) [site](https://x.y)\n")


def test_a_link_to_a_heading_that_is_gone_is_found():
    page = "## `a` and [b](c)\n## x\n## x\n[1](#a-and-b) [2](#x) [3](#x-1)\n"
    assert not broken_anchors("docs/x.md", page)
    assert broken_anchors("docs/x.md", "## x\n[gone](#y)\n")
    assert broken_anchors("docs/x.md", "[gone](../README.md#no-such-heading)\n")


def unknown_keys(path, text):
    """A key of the configuration that a page names is one that docs/config.md has."""
    known = set(re.findall(r"^\| `([a-z_.]+)`", read("docs/config.md"), re.MULTILINE))
    sections = {key.split(".")[0] for key in known if "." in key}
    named = re.finditer(r"`([a-z_]+(?:\.[a-z_]+)+)`", text)
    return [finding(path, line_of(text, match.start()), f"there is no key {match[1]}")
            for match in named
            if match[1].split(".")[0] in sections and match[1] not in known]  # fmt: skip


def test_the_glossary_names_keys_that_exist():
    check(unknown_keys, ["docs/glossary.md"])
    assert unknown_keys("a.md", "`engine.kindness`")
