"""What is wrong with a command line, in the words of the native commands; and the options of all commands."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

__all__ = ["FiniteRange", "option_lines", "usage_text"]


class FiniteRange(click.FloatRange):
    """A number of a range: `nan` lies in every range of click's, and makes each comparison false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number that can be compared with", param, ctx)
        return number


def _expected(kind: Any, value: str) -> str:
    if isinstance(kind, click.Choice):
        from iolens.log.unknown import near_text

        words = [str(c) for c in kind.choices]
        return near_text(value, words) or f"expected {', '.join(words[:-1])} or {words[-1]}"
    return (
        "expected a number"
        if isinstance(kind, (click.types.FloatParamType, click.types.IntParamType))
        else ""
    )


def _wrong_value(error: click.BadParameter) -> str:
    name = next((o for o in getattr(error.param, "opts", ()) if o.startswith("--")), "")
    value = re.match(r"'(.*?)' is not", error.message)
    expected = _expected(error.param.type, value[1]) if error.param and value else ""
    return (
        f"{name} {value[1]}: {expected}"
        if value and name and expected
        else error.format_message().rstrip(".")
    )


def _missing(param: click.Parameter) -> str:
    if isinstance(param, click.Argument) and isinstance(param.type, click.Choice):
        return _expected(param.type, "")
    option = next((f"{o} " for o in param.opts if o.startswith("--")), "")
    return f"{option}{param.metavar or ('' if option else param.opts[0])}".rstrip() + " is missing"


def usage_text(error: click.ClickException) -> str:
    """One line, without "iolens: ": what is wrong, and what may have been meant or where to read about it."""
    context: click.Context | None = getattr(error, "ctx", None)
    name = context.command_path.partition(" ")[2] if context else " ".join(sys.argv[1:2])
    see = f": see iolens {name} --help"
    if isinstance(error, click.NoSuchOption):
        from iolens.log.unknown import near_text

        known = [o for p in error.ctx.command.params for o in p.opts] if error.ctx else []
        near = near_text(error.option_name, [*known, "--help"])
        text, see = f"unknown option {error.option_name}", f": {near}" if near else see
    elif isinstance(error, click.BadOptionUsage) and "requires" in error.message:
        text = f"option {error.option_name} needs a value"
    elif isinstance(error, click.MissingParameter) and error.param:
        text = _missing(error.param)
    elif isinstance(error, click.BadParameter):
        text = _wrong_value(error)
        see = "" if text.endswith("?") else see
    else:
        text = error.format_message().rstrip(".")
    return f"{name}: {text}{see}"


def _value(option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    if isinstance(option.type, click.Choice):
        return "|".join(str(c) for c in option.type.choices)
    return option.metavar or "VALUE"


def option_lines(names: Sequence[str], group: click.Group) -> Iterator[str]:
    """A line ``command, name, letter, value, about`` per option, tabs between: for ``iolens completion``."""
    for name in names:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        for option in command.get_params(click.Context(command, help_option_names=["-h", "--help"])):
            if not isinstance(option, click.Option) or option.hidden:
                continue
            letter = next((o[1] for o in option.opts if len(o) == 2), "")
            long = next(o[2:] for o in option.opts if o.startswith("--"))
            about = " ".join((option.help or "").split()).rstrip(".")
            yield "\t".join((name, long, letter, _value(option), about))
