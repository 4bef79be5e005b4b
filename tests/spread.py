"""An order of tests in which slow ones do not stand beside each other.

pytest-xdist deals to each worker a long row of neighbours first, and a file of tests that wait long
kept one worker busy while the others had nothing left to do.
"""

STRIDE = 31  # neighbours in the new order stood so far apart


def shares_a_fixture(item):
    """It has a fixture that its whole module shares, and would make anew somewhere else."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(one.scope in ("module", "class") for each in fixtures for one in each)


def spread(items):
    rows = []  # of a module that shares a fixture, or of one test
    last = None
    for item in items:
        module = item.module if shares_a_fixture(item) else None
        if module is None or module is not last:
            rows.append([])
        rows[-1].append(item)
        last = module
    return [item for first in range(STRIDE) for row in rows[first::STRIDE] for item in row]
