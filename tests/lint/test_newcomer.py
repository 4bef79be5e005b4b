"""What a newcomer asks is answered by a page that README leads to in two clicks."""

import re
import tomllib

import pytest
from lint_tree import ROOT, read

QUESTIONS = tomllib.loads(read("tests/lint/newcomer_questions.toml"))["question"]


def links_of(page):
    """Pages of the tree that this one links to, and folders by their README."""
    found = set()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(page)):
        path = (ROOT / page).parent / target
        if "://" not in target and path.exists():
            path = path / "README.md" if path.is_dir() else path
            if path.suffix == ".md" and path.exists():
                found.add(str(path.resolve().relative_to(ROOT)))
    return found


def slug(heading):
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def section(page, anchor):
    """The text below this heading, down to the next of its rank."""
    rows = read(page).split("\n")
    for number, row in enumerate(rows):
        match = re.match(r"(#+) (.*)", row)
        if match and slug(match.group(2)) == anchor:
            rank = len(match.group(1))
            after = rows[number + 1 :]
            ends = (n for n, r in enumerate(after) if re.match(rf"#{{1,{rank}}} ", r))
            return "\n".join(after[: next(ends, len(after))])
    return None


@pytest.fixture(scope="module")
def near():
    """In two clicks from README."""
    first = links_of("README.md")
    return first.union(*(links_of(page) for page in first)) | {"README.md"}


def test_there_are_ten_questions_at_least():
    assert len(QUESTIONS) >= 10


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["asks"])
def test_the_answer_is_two_clicks_away_and_complete(question, near):
    page, _, anchor = question["page"].partition("#")
    assert page in near, f"README does not lead to {page} in two clicks"
    text = section(page, anchor)
    assert text is not None, f"{page} has no section #{anchor}"
    missing = [words for words in question["says"] if words.lower() not in text.lower()]
    assert not missing, f"{question['page']} does not say {missing}"
