"""Each hop of docs/life-of-a-*.md names a file and a function that it defines."""

import re

import pytest
from lint_cxx import code_of
from lint_tree import check, files, finding, line_of, read, tree_files

HOP = re.compile(r"`([\w/.]+\.[ch]pp):([\w:~]+)`")
FEWEST = 20


def defines(path, function):
    """A line that begins a definition of it, a method with its class where the page has it so."""
    name = re.escape(function)
    begins = re.compile(rf"^[\w\[](?:[\w:<>,&*\[\] ]|\n    )*?[ &*]{name}\(", re.MULTILINE)
    return begins.search(code_of(read(path))) is not None


def unknown_hops(path, text):
    found = []
    for hop in HOP.finditer(text):
        file, function = hop.groups()
        if file not in tree_files():
            found.append(finding(path, line_of(text, hop.start()), f"there is no file {file}"))
        elif not defines(file, function):
            message = f"{file} defines no {function}()"
            found.append(finding(path, line_of(text, hop.start()), message))
    return found


def pages():
    return [path for path in files(".md", under=("docs/",)) if path.startswith("docs/life-of-a-")]


def test_each_hop_exists():
    check(unknown_hops, pages())


def test_the_pages_are_made_of_hops():
    assert len(pages()) == 2
    assert all(len(HOP.findall(read(path))) > FEWEST for path in pages())


@pytest.mark.parametrize(
    ("hop", "found"),
    [
        ("`core/lifecycle.cpp:Lifecycle::step`", 0),
        ("`core/stop_rules.cpp:apply_move`", 0),
        ("`core/lifecycle.cpp:step`", 1),
        ("`core/lifecycle.cpp:Lifecycle::stop`", 1),
        ("`core/lifecycle.cpp:apply_joint`", 1),
        ("`core/gone.cpp:step`", 1),
    ],
)
def test_a_hop_that_does_not_exist_is_found(hop, found):
    assert len(unknown_hops("docs/life-of-a-x.md", f"1. {hop} does it.\n")) == found
