"""Refused: logs the lines that the supervisor refuses, however many there are.

A program that begins more requests than one connection may have gets a refusal for each of them,
and another for the end of each.

Rules
  1. The first refusal with a code is logged at once. Further ones are counted; their number is
     logged, with the last text, `EVERY` seconds later, or once the connection has ended.
  2. Afterwards the next one is the first again.
  3. Nothing is logged with the session's lock held: a log handler is code of the program.

Threads: on the link's thread; `end` on any, once that thread is over.
"""

from __future__ import annotations

import logging
from typing import Optional

EVERY = 60.0  # seconds

_log = logging.getLogger("lastcall")


class _Row:
    def __init__(self, until: float) -> None:
        self.until = until
        self.more = 0
        self.last = ""


class Refused:
    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}  # by code

    def add(self, code: str, text: str, now: float) -> None:
        row = self._rows.get(code)
        if row is None:
            self._rows[code] = _Row(now + EVERY)
            _log.error("the lastcall supervisor refused a line: %s", text)
        else:
            row.more += 1
            row.last = text

    def tick(self, now: float) -> Optional[float]:
        """Logs the numbers that are due; returns when the next one is."""
        for code in [code for code, row in self._rows.items() if row.until <= now]:
            self._end(self._rows.pop(code))
        return min((row.until for row in self._rows.values()), default=None)

    def lost(self) -> None:
        """The connection has ended: all numbers are due."""
        for row in self._rows.values():
            row.until = 0.0

    def end(self) -> None:
        rows, self._rows = self._rows, {}
        for row in rows.values():
            self._end(row)

    @staticmethod
    def _end(row: _Row) -> None:
        if row.more:
            _log.error(
                "the lastcall supervisor refused %d more; the last: %s", row.more, row.last
            )
