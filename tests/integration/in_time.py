"""How soon something happens, without luck: both instants are of the machine's monotonic clock.

A busy machine may be late with anything. So a measurement is repeated while it is late: late once
is the machine's doing, late five times ours.
"""

def in_time(measure, most, least=None, tries=5):
    """Milliseconds, measured until they are in time. Too early is never the machine's doing."""
    took = []
    while not took or (took[-1] > most and len(took) < tries):
        took.append(measure())
        assert least is None or took[-1] >= least, took
    assert took[-1] <= most, f"never within {most} ms: {took}"


def unless_late(attempt, late, tries=3):
    """The result of an attempt. While `late` finds that the machine was late, another one is made.

    The last one counts as it is: what comes out wrong each time is ours.
    """
    for _ in range(tries - 1):
        result = attempt()
        if not late(result):
            return result
    return attempt()
