"""The one error of this package, and what it means for a command's exit code."""

from __future__ import annotations

import os

__all__ = ["FINDINGS", "OK", "PARTIAL", "UNREADABLE", "USAGE", "IolensError"]

OK, FINDINGS, USAGE, UNREADABLE, PARTIAL = 0, 1, 2, 3, 4

# Of the log library's codes (format/base/error.h), all others mean that the log cannot be read.
_USAGE_CODES = {-10, -11}

BUDGET_CODE = -12
"""A log unpacks to more than is allowed."""

MORE_MEMORY = "if it is sound (iolens check tells), IOLENS_MEMORY=4G allows more"


class IolensError(Exception):
    """Something is wrong with a log, or with what was asked of it.

    problem: what is wrong, one line without the path. path: the file, None if it is about none.
    offset: byte in the file, None if there is none in particular. exit_code: what a command ends with
    (2 usage, 3 unreadable input, 4 partial data).
    """

    def __init__(
        self, problem: str, path: str | None = None, offset: int | None = None, exit_code: int = UNREADABLE
    ) -> None:
        super().__init__(problem, path, offset, exit_code)
        self.problem = problem
        self.path = path
        self.offset = offset
        self.exit_code = exit_code

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        at = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{where}{self.problem}{at}"


def of_native(code: int, message: str, path: str | None, offset: int | None, system: int) -> IolensError:
    """The error for a failure of the log library; called by the extension module."""
    problem = f"{message}: {os.strerror(system)}" if system else message
    if code == BUDGET_CODE:
        problem = f"{message}: {MORE_MEMORY}"
    return IolensError(problem, path or None, offset, USAGE if code in _USAGE_CODES else UNREADABLE)
