"""What no text file of the tree may hold."""

import re

import pytest
from lint_tree import CXX, check, files, finding, line_of, text_files

# Written in pieces so that this file does not hold what it looks for.
_HOSTS = "|".join(
    re.escape(".".join(parts))
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("crates", "io"),
        ("npmjs", "org"),
        ("deb", "debian", "org"),
        ("golang", "org"),
        ("repo", "maven"),
        ("repo1", "maven"),
    )
)
_PLACES = "|".join(("/wo" + "rk/", "/tmp/" + r"lc\b", "/ro" + "ot/", "/ho" + r"me/\w+/"))
PATTERNS = [
    (r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", "finish it, or open an issue"),
    (r"[ \t]+$", "trailing whitespace"),
    (r"\t", "a tab"),
    (r"\r", "a carriage return"),
    (_HOSTS, "a package registry's host: the ordinary clients know theirs"),
    (r"(?<![\w.])(" + _PLACES + ")", "a path of somebody's machine"),
]


def forbidden(path, text):
    found = [
        finding(path, number, why)
        for number, line in enumerate(text.split("\n"), 1)
        for pattern, why in PATTERNS
        if re.search(pattern, line)
    ]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        found.append(finding(path, text.count("\n"), "does not end with exactly one newline"))
    return found


# An item of a list in a comment, and then a line that is indented as the item itself is.
_FLOWED = re.compile(r"^//  \d+\. .*\n(?://     .*\n)*(//  [a-z(])", re.MULTILINE)


def flowed_comments(path, text):
    """A formatter has broken a list: clang-format does so where ReflowComments is on."""
    return [
        finding(path, line_of(text, match.start(1)), "a list in a comment has flowed together")
        for match in _FLOWED.finditer(text)
    ]


def test_lists_in_comments_are_whole():
    check(flowed_comments, files(*CXX))


def test_a_list_that_has_flowed_together_is_found():
    assert not flowed_comments("a.hpp", "//  1. One thing\n//     and more.\n//  2. Two.\n")
    assert flowed_comments("a.hpp", "//  1. One thing,\n//  and\n//     more.\n")


_FRAGMENT = re.compile(r"^[ \t]*(?:///?|#) (Of) ", re.MULTILINE)


def fragments(path, text):
    """A comment that begins like this has no subject, or hides it after what it belongs to."""
    return [
        finding(path, line_of(text, match.start(1)), "a comment begins with 'Of'")
        for match in _FRAGMENT.finditer(text)
    ]


def test_comments_do_not_begin_with_of():
    check(fragments, files(*CXX, ".py", ".sh", ".yaml", ".cmake", "CMakeLists.txt"))


def test_a_comment_that_begins_with_of_is_found():
    assert fragments("a.hpp", "  /// Of the core.\n") and fragments("a.py", "# Of keys.\n")
    assert not fragments("a.hpp", "// Often.\n// What is\n// of the core\n")


def test_text_files_hold_nothing_forbidden():
    check(forbidden, text_files())


@pytest.mark.parametrize(
    "text",
    [
        "// TO" + "DO later\n",
        "# FIX" + "ME\n",
        "word \n",
        "\tword\n",
        "word\r\n",
        "pip install -i https://pypi" + ".org/simple\n",
        "see https://crates" + ".io/x\n",
        "cd /wo" + "rk/main\n",
        "/ho" + "me/someone/file\n",
        "no newline",
        "two newlines\n\n",
    ],
)
def test_forbidden_text_is_found(text):
    assert forbidden("sample.md", text)


@pytest.mark.parametrize(
    "text", ["", "plain\n", "mktemp x.XXXXXX\n", "a/work" + "/b and $HOME/x\n", "debian:12-slim\n"]
)
def test_ordinary_text_is_let_through(text):
    assert not forbidden("sample.md", text)
