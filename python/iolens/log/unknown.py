"""KeyErrors that say what was meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["unknown"]

_SHOWN = 8


class _Unknown(KeyError):
    """A KeyError whose text is printed as it is, without quotes around it."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(what: str, name: object, known: Iterable[str]) -> KeyError:
    """An error about a name that is none of those known: with the nearest ones, else with the first ones."""
    import difflib

    names = list(known)
    folded = {n.lower(): n for n in reversed(names)}
    near = difflib.get_close_matches(str(name).lower(), folded, n=3, cutoff=0.7)
    if near:
        hint = f"did you mean {' or '.join(folded[n] for n in near)}?"
    elif names:
        hint = f"there is {', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"
    else:
        hint = "there is none"
    return _Unknown(f"no {what} {name}: {hint}")
