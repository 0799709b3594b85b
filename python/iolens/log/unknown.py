"""KeyErrors that say what was meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["near_text", "unknown", "unknown_text"]

_SHOWN = 8
_NEAR = 0.7


class _Unknown(KeyError):
    """A KeyError whose text is printed as it is, without quotes around it."""

    def __str__(self) -> str:
        return str(self.args[0])


def near_text(name: object, known: Iterable[str]) -> str:
    """``did you mean y?`` for the nearest names; nothing where none is near."""
    import difflib

    folded = {n.lower(): n for n in reversed(list(known))}
    near = difflib.get_close_matches(str(name).lower(), folded, n=3, cutoff=_NEAR)
    return f"did you mean {' or '.join(folded[n] for n in near)}?" if near else ""


def unknown_text(what: str, name: object, known: Iterable[str], otherwise: str = "") -> str:
    """``unknown metric "x": did you mean y?``, or ``otherwise``, or the first names, where none is near.

    otherwise: what to do then, "`iolens explain` lists them".
    """
    names = list(known)
    first = f"there is {', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"
    hint = near_text(name, names) or otherwise or (first if names else "there is none")
    return f'unknown {what} "{name}": {hint}'


def unknown(what: str, name: object, known: Iterable[str]) -> KeyError:
    """An error about a name that is none of those known: with the nearest ones, else with the first ones."""
    return _Unknown(unknown_text(what, name, known))
