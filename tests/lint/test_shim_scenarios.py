"""Each acceptance scenario of the shim has a test, and the table names none that is gone."""

import re

from lint_tree import ROOT

FOLDER = ROOT / "tests/integration/shim"
SCENARIOS = {*range(1, 26), *range(34, 39), 45, 47, 49}


def table():
    """[(number, file, test)] of the folder's README."""
    found = []
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[1].isdigit():
            for file, tests in re.findall(r"`([./\w]+\.py)`: ([^;]+)", cells[3]):
                names = re.findall(r"`(test_\w+)`", tests)
                found += [(int(cells[1]), file, name) for name in names]
    return found


def test_each_scenario_has_a_test():
    assert {number for number, _, _ in table()} == SCENARIOS


def test_each_test_of_the_table_exists():
    missing = [f"{number}: {file}: {test}" for number, file, test in table()
               if f"def {test}(" not in (FOLDER / file).read_text(encoding="utf-8")]
    assert not missing
