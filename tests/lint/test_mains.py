"""Every program that may hold a secret hides itself before it does anything else."""

import re

import pytest
from lint_tree import ROOT, files

# These files have no such main(): one prints documentation, and the launcher becomes the program.
OTHERS = re.compile(r"(config_docs|router/docs)\.cpp$")
MAIN = re.compile(r"^int main\(.*?\) \{\n(.*?)\n\}\n", re.M | re.S)


def mains(paths):
    for path in paths:
        text = (ROOT / path).read_text()
        if "\nint main(" in text and not OTHERS.search(path):
            yield path, MAIN.search(text)[1]


def first_statement(body):
    lines = [line.strip() for line in body.splitlines()]
    code = [line for line in lines if not line.startswith(("//", "using namespace "))]
    return code[0].split("//")[0].strip()


PROGRAMS = dict(mains(files(".cpp", under=("router/", "shim/", "supervisor/", "config/"))))


def test_all_programs_are_looked_at():
    assert {path.split("/")[-2] for path in PROGRAMS} == {"cli", "doctor", "kube", "router", "shim"}


@pytest.mark.parametrize("path", PROGRAMS)
def test_a_program_is_undumpable_first_of_all(path):
    assert first_statement(PROGRAMS[path]).endswith("become_undumpable();")
