"""Limits to the I/O of tests: counts, not times. docs/guide/ci.md says what is counted.

@pytest.mark.io_limit(read="1 MiB", opens=10)
def test_of_mine(): ...
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import sysconfig
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from iolens.live import Snapshot

__all__ = ["IoLimitsNotChecked"]

# Limit -> the roles whose counts are added up.
_LIMITS: dict[str, tuple[str, ...]] = {
    "read": ("bytes_read",),
    "written": ("bytes_written",),
    "reads": ("reads",),
    "writes": ("writes",),
    "opens": ("opens",),
    "metadata": ("meta_ops", "syncs"),
    "files": (),
}
_BYTES = ("read", "written")
_UNITS = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1000, "mb": 10**6, "gb": 10**9}

# What Python reads of itself, whenever it happens to: byte code is made by the first run, tracebacks read sources.
_PYTHON = re.compile(r"\.(py|pyc|so|pth)$|/__pycache__(/|$)")

_FILES_SHOWN = 5


class IoLimitsNotChecked(pytest.PytestWarning):
    """A test has limits, and nothing counts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("iolens", "I/O of tests")
    group.addoption(
        "--io-limits",
        action="store_true",
        help="check the marks io_limit: starts pytest again under iolens, which counts",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"io_limit({', '.join(f'{name}=N' for name in _LIMITS)}): the test does no more I/O than that; "
        "bytes may be written as '1 MiB'",
    )


# ---- starting again ----


def _command_line() -> list[str]:
    """What runs the same again."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return [sys.executable, "-m", "pytest", *sys.argv[1:]]
    if program.name not in ("pytest", "py.test"):
        raise pytest.UsageError(
            f"--io-limits: {program.name} is not pytest's command; start it by: iolens run -- {program.name}"
        )
    return [sys.executable, *sys.argv]


def _again() -> int:
    from iolens.program import run_in_place

    iolens = Path(sysconfig.get_path("scripts")) / "iolens"
    if not iolens.exists():
        raise pytest.UsageError(f"--io-limits: there is no {iolens}; install iolens in this environment")
    command = _command_line()
    with tempfile.TemporaryDirectory(prefix="iolens-pytest-") as folder:
        log = f"{folder}/tests.darshan"
        return run_in_place([iolens, "run", "--quiet", "-o", log, "--", *command])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Before pytest captures anything."""
    if early_config.known_args_namespace.io_limits:
        from iolens.live import is_observed

        if not is_observed():
            if os.environ.get("IOLENS_PYTEST"):
                raise pytest.UsageError(
                    "--io-limits: iolens run does not observe this Python: see iolens doctor -- python3"
                )
            os.environ["IOLENS_PYTEST"] = "1"
            raise SystemExit(_again())
    return (yield)


# ---- counting ----


def _number(name: str, value: object) -> int:
    """A limit as a number. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value), re.IGNORECASE)
    if name in _BYTES and found and found[2].lower() in _UNITS:
        return int(float(found[1]) * _UNITS[found[2].lower()])
    example = ', or as "64 KiB"' if name in _BYTES else ""
    raise ValueError(f"io_limit: {name}={value!r} is not a number from 0 on{example}")


def _limits(item: pytest.Item) -> dict[str, int]:
    """Of all marks, the one nearest to the test first. Raises ValueError."""
    limits: dict[str, int] = {}
    for mark in item.iter_markers("io_limit"):
        if mark.args or not mark.kwargs:
            raise ValueError(f"io_limit: name its limits: {', '.join(_LIMITS)}")
        for name, value in mark.kwargs.items():
            if name not in _LIMITS:
                raise ValueError(f"io_limit: no limit {name!r}; there are {', '.join(_LIMITS)}")
            limits.setdefault(name, _number(name, value))
    return limits


def _streams(snapshot: Callable[[], Snapshot]) -> tuple[set[int], Snapshot]:
    """Ids of the files that stand for standard output and error: those that an empty write reaches; and this moment."""
    before = snapshot()
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"")
    now = snapshot()
    return {id for _, id in now.since(before)}, now


class _Measured:
    """What this process does in a `with`, but for imports, standard streams, and Python's own files."""

    def __init__(self) -> None:
        from iolens.live import ROLES, snapshot

        self._snapshot = snapshot
        self._roles = ROLES
        self._thread = threading.get_ident()
        self._importing = False
        self._imported: Counter[tuple[str, int, int]] = Counter()
        self.files: dict[str, Counter[str]] = {}

    @contextlib.contextmanager
    def _imports_left_out(self) -> Iterator[None]:
        """A module is imported once in a process: by whichever test comes first."""
        bootstrap: Any = importlib._bootstrap
        original = bootstrap._find_and_load

        def find_and_load(*args: Any) -> Any:
            __tracebackhide__ = True
            if self._importing or threading.get_ident() != self._thread:
                return original(*args)
            self._importing = True
            before = self._snapshot()
            try:
                return original(*args)
            finally:
                self._importing = False
                for key, counts in self._snapshot().since(before).items():
                    self._imported.update({(*key, number): n for number, n in enumerate(counts)})

        bootstrap._find_and_load = find_and_load
        try:
            yield
        finally:
            bootstrap._find_and_load = original

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        streams, before = _streams(self._snapshot)
        with self._imports_left_out():
            yield
        after = self._snapshot()
        for (module, id), counts in after.since(before).items():
            own = [n - self._imported[module, id, number] for number, n in enumerate(counts)]
            name = after.name(id)
            if id not in streams and any(own) and not name.startswith("<STD") and not _PYTHON.search(name):
                self.files.setdefault(name, Counter()).update(dict(zip(self._roles, own)))

    def count(self, limit: str) -> int:
        if limit == "files":
            return len(self.files)
        return sum(counts[role] for counts in self.files.values() for role in _LIMITS[limit])


def _short(name: str, value: int) -> str:
    from iolens.rules.text import write

    return write(value, "bytes") if name in _BYTES else f"{value:,}"


def _written(name: str, value: int) -> str:
    exact = f"{value:,}"
    return f"{_short(name, value)} ({exact} bytes)" if name in _BYTES and value >= 1024 else exact


def _message(measured: _Measured, limits: dict[str, int], beyond: list[str]) -> str:
    from iolens.rules.text import clean

    short = [f"{n} {_short(n, measured.count(n))} (limit {_short(n, limits[n])})" for n in beyond]
    lines = [f"io_limit: {', '.join(short)}"]  # pytest's summary has the first line
    for name, limit in limits.items():
        sign = "!" if name in beyond else " "
        done, most = _written(name, measured.count(name)), _written(name, limit)
        lines.append(f" {sign} {name:<9} {done:>24}   limit {most}")
    roles = [role for name in beyond for role in _LIMITS[name]] or ["opens"]
    costly = sorted(measured.files.items(), key=lambda f: (-sum(f[1][r] for r in roles), f[0]))
    lines.append("costliest files:")
    for name, counts in costly[:_FILES_SHOWN]:
        told = ", ".join(
            f"{word} {sum(counts[r] for r in chosen):,}"
            for word, chosen in _LIMITS.items()
            if any(counts[r] for r in chosen)
        )
        lines.append(f"   {clean(name)}: {told}")
    if len(costly) > _FILES_SHOWN:
        lines.append(f"   ... {len(costly) - _FILES_SHOWN:,} more")
    return "\n".join(lines)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Innermost: what other plug-ins do around the test is not the test's."""
    if item.get_closest_marker("io_limit") is None:
        return (yield)
    try:
        limits = _limits(item)
    except ValueError as error:
        pytest.fail(str(error), pytrace=False)
    from iolens.live import is_observed

    if not is_observed():
        item.warn(IoLimitsNotChecked("io_limit was not checked: pytest --io-limits"))
        return (yield)
    measured = _Measured()
    with measured.running():
        result = yield
    beyond = [name for name, most in limits.items() if measured.count(name) > most]
    if beyond:
        pytest.fail(_message(measured, limits, beyond), pytrace=False)
    return result
