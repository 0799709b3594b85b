"""Makes a program that differs small: what can go without the difference is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .operations import Op

Test = Callable[[Sequence[Op]], bool]


def _processes(program: Sequence[Op]) -> Iterator[list[Op]]:
    """The program without all that one process does, its start and its end."""
    for number in sorted({op.process for op in program} - {0}):
        verbs = ("fork", "spawn", "vfork", "wait", "kill")
        about = [op.process == number or (op.verb in verbs and op.words[:1] == (number,)) for op in program]
        yield [op for op, drop in zip(program, about) if not drop]


def _one_pass(program: list[Op], piece: int, still: Test) -> list[Op]:
    """Without all pieces of this length that can go, from the end on."""
    start = len(program) - piece
    while start >= 0:
        candidate = [*program[:start], *program[start + piece :]]
        if candidate and still(candidate):
            program = candidate
        start -= piece
    return program


def shrink(program: Sequence[Op], still: Test) -> list[Op]:
    """`still`: whether a program has the difference."""
    best = list(program)
    for candidate in list(_processes(best)):
        if still(candidate):
            best = candidate
    piece = max(1, len(best) // 4)
    while piece:
        shorter = _one_pass(best, piece, still)
        if piece > 1 or len(shorter) == len(best):
            piece //= 2
        best = shorter
    return best
