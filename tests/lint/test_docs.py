"""Docs and programs say the same: subcommands, flags, exit codes, the verbs of ./dev, links."""

import re
import subprocess

from lint_tree import ROOT, check, files, finding, read

EXIT_CODES = {0, 1, 2, 126, 127, 137}


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
    """What the docs tell the reader to call: `lastcall WORD` in a code span or at a prompt.

    One log line of the product begins like a command and is quoted as it is.
    """
    call = r"lastcall (?!shutdown complete)([a-z][\w-]*)"
    fenced = re.findall(r"^```\w*\n(.*?)^```", docs, re.MULTILINE | re.DOTALL)
    at_prompt = re.findall(rf"^(?:\$ )?{call}", "\n".join(fenced), re.MULTILINE)
    return set(at_prompt) | set(re.findall(f"`{call}", docs))


def exit_codes_in(docs):
    """Numbers in the first column of the tables, several to a row allowed."""
    cells = re.findall(r"^\|\s*`?([\d, `]+)`?\s*\|", docs, re.MULTILINE)
    return {int(number) for cell in cells for number in re.findall(r"\d+", cell)}


def broken_links(path, text):
    """Relative links of Markdown files lead to files of the tree."""
    found = []
    folder = (ROOT / path).parent
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if not re.match(r"[a-z]+:", target) and not (folder / target).exists():
                found.append(finding(path, number, f"links to {target}, which does not exist"))
    return found


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


def test_every_flag_of_the_shim_is_documented(help_of):
    flags = flags_of(help_of("lastcall-shim"))
    assert flags, "`lastcall-shim --help` lists no flag"
    missing = undocumented(flags - {"--help"}, docs_text())
    assert not missing, f"in no document: {missing}"


def test_every_exit_code_is_documented():
    missing = EXIT_CODES - exit_codes_in(docs_text())
    assert not missing, f"exit codes in no table of README.md or docs/: {sorted(missing)}"


def test_links_lead_somewhere():
    check(broken_links, files(".md"))


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


def test_what_the_docs_lack_is_found():
    assert undocumented({"--grace"}, "`--grace-ms`") == ["--grace"]
    assert undocumented({"--grace"}, "`--grace 60s`") == []
    docs = "Call `lastcall flush`.\nlastcall is it.\n```sh\n$ lastcall drain -x\nlastcall run\n```"
    assert commands_in(docs + "\n`lastcall shutdown complete`\n") == {"flush", "drain", "run"}
    assert exit_codes_in("| 126, 127 | not found |\n| 0 | fine |\n137 |") == {0, 126, 127}


def test_a_broken_link_is_found():
    assert broken_links("docs/x.md", "[gone](no-such-file.md)\n")
    assert not broken_links("README.md", "[the licence](LICENSE) [site](https://x.y)\n")
