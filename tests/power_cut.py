"""What a loss of power at any system call of a command may leave of a folder, by the least that file systems promise.

`strace` tells the calls. A file's bytes are on disk once it was synced, a name once its folder was, both once the
file system was. At a cut the disk has one of three states:
  * names: every name, and of files that were not synced no byte (ext4 and xfs, whose journals are ahead of the data);
  * synced: what was synced alone (nothing was written in time);
  * removed: the same, and what was removed is gone (a folder of its own was written, others were not).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

CALLS = (
    "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,"
    "fsync,fdatasync,syncfs"
)
STATES = ("names", "synced", "removed")

_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)$")
_CALL = re.compile(r"(\w+)\((.*)\) += (\d+)(?:<(.*)>)?$")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"|\d+<([^>]*)>')


@dataclass(frozen=True)
class _Cut:
    """What a file system knows at one moment: path -> file, None for a folder."""

    now: dict[str, int | None] = field(default_factory=dict)
    kept: dict[str, int | None] = field(default_factory=dict)
    """Names that are on disk."""
    synced: frozenset[int] = frozenset()

    def state(self, kind: str) -> dict[str, int | None]:
        """Path -> file, -1 for one without a byte."""
        names = self.now if kind == "names" else self.kept
        if kind == "removed":
            moved = set(self.now.values()) - {None}  # a rename is done as a whole, or not
            names = {path: file for path, file in names.items() if path in self.now or file in moved}
        whole = {p: f if f is None or f in self.synced else -1 for p, f in names.items()}
        return {
            p: f
            for p, f in whole.items()
            if all(str(up) in whole for up in Path(p).parents if str(up) != ".")
        }


class Disk:
    """A folder under commands whose calls are traced. What is in it at first is on disk."""

    def __init__(self, folder: Path, place: Path) -> None:
        self._folder = folder
        self._place = place
        self._content: dict[int, Path] = {}
        self._cut = _Cut()
        place.mkdir()
        names: dict[str, int | None] = {}
        for path in sorted(folder.rglob("*")):
            names[str(path.relative_to(folder))] = None if path.is_dir() else self._file(path)
        self._cut = _Cut(names, dict(names), frozenset(self._content))
        self._keep()

    def _file(self, path: Path | None) -> int:
        number = len(self._content) + 1
        self._content[number] = path or Path(os.devnull)
        return number

    def _keep(self) -> None:
        """What files hold at this moment; a later call may remove them."""
        held = self._place / str(len(list(self._place.iterdir())))
        held.mkdir()
        for path, file in self._cut.now.items():
            there = self._folder / path
            if file is not None and there.is_file():
                kept = held / str(file)
                shutil.copy2(there, kept)  # another name would be a reason to refuse the file
                self._content[file] = kept

    def run(self, command: Sequence[str | Path], **settings: object) -> list[_Cut]:
        """Runs a command; the moments at which the disk was in another state."""
        log = self._place.with_suffix(".trace")
        traced = ["strace", "-f", "-y", "-s", "4096", "-o", log, "-e", f"trace={CALLS}", "--", *command]
        done = subprocess.run(traced, check=False, capture_output=True, text=True, **settings)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        cuts = [self._cut]
        for name, arguments, opened in _calls(log):
            cut = self._after(self._cut, name, arguments, opened)
            if cut is not self._cut:
                self._cut = cut
                cuts.append(cut)
        self._keep()
        return cuts

    def _below(self, path: str) -> str | None:
        """From the folder; None if it is elsewhere, "." for the folder."""
        path = os.path.normpath(path)
        return os.path.relpath(path, self._folder) if Path(path).is_relative_to(self._folder) else None

    def _after(self, cut: _Cut, name: str, arguments: str, opened: str | None) -> _Cut:  # noqa: PLR0911
        paths = [self._below(path) for path in _paths(arguments)]
        first, last = (paths[0], paths[-1]) if paths else (None, None)
        if first is None and last is None:
            return cut
        if name.startswith(("open", "creat")):
            if first in cut.now or first == "." or (name != "creat" and "O_CREAT" not in arguments):
                return cut
            return replace(cut, now={**cut.now, str(first): self._file(None)})
        if name.startswith("mkdir"):
            return replace(cut, now={**cut.now, str(first): None})
        if name in ("fsync", "fdatasync"):
            return self._synced(cut, str(first))
        if name == "syncfs":
            files = {file for file in cut.now.values() if file is not None}
            return replace(cut, kept=dict(cut.now), synced=cut.synced | files)
        now = dict(cut.now)
        if name.startswith(("unlink", "rmdir")):
            now.pop(str(first), None)
        elif name.startswith("link"):
            now[str(last)] = now.get(str(first)) if first else self._file(None)
        else:
            moved = {p: f for p, f in now.items() if p == first or p.startswith(f"{first}/")}
            for path, file in moved.items():
                del now[path]
                now[str(last) + path[len(str(first)) :]] = file
        return replace(cut, now=now)

    @staticmethod
    def _synced(cut: _Cut, path: str) -> _Cut:
        file = cut.now.get(path)
        if file is not None:
            return cut if file in cut.synced else replace(cut, synced=cut.synced | {file})
        folder = "" if path == "." else path
        kept = {p: f for p, f in cut.kept.items() if os.path.dirname(p) != folder or p in cut.now}  # noqa: PTH120
        kept.update({p: f for p, f in cut.now.items() if os.path.dirname(p) == folder})  # noqa: PTH120
        return cut if kept == cut.kept else replace(cut, kept=kept)

    def states(self, cuts: Sequence[_Cut], at_most: int) -> Iterator[str]:
        """Puts into the folder what the disk has after some of these cuts; what each is. No command runs after that."""
        last = len(cuts) - 1
        chosen = range(last + 1) if last < at_most else [n * last // (at_most - 1) for n in range(at_most)]
        seen: list[dict[str, int | None]] = []
        for number in chosen:
            for kind in STATES:
                state = cuts[number].state(kind)
                if state in seen[-2 * len(STATES) :]:
                    continue
                seen.append(state)
                shutil.rmtree(self._folder)
                self._folder.mkdir()
                for path, file in sorted(state.items()):
                    self._make(self._folder / path, file)
                yield f"{kind} after {number} of {last} changes"

    def _make(self, path: Path, file: int | None) -> None:
        if file is None:
            path.mkdir(exist_ok=True)
        elif file == -1 or self._content[file] == Path(os.devnull):
            path.touch()
        else:
            shutil.copy2(self._content[file], path)


def _calls(log: Path) -> Iterator[tuple[str, str, str | None]]:
    """Those that succeeded, in the order in which they ended."""
    begun: dict[str, str] = {}
    for line in log.read_text(errors="surrogateescape").splitlines():
        if found := _BEGUN.match(line):
            begun[found[1]] = found[3]
            continue
        if found := _RESUMED.match(line):
            text = f"{found[2]}({begun.pop(found[1])}{found[3]}"
        else:
            text = line.partition(" ")[2].lstrip()
        if call := _CALL.match(text):
            yield call[1], call[2], call[4]


def _paths(arguments: str) -> list[str]:
    """In their order: of descriptors, of names, and of names below a folder's descriptor."""
    found = []
    for match in _PATH.finditer(arguments):
        folder, name, descriptor = match.groups()
        name = name.encode("latin-1").decode("unicode_escape").encode("latin-1").decode() if name else name
        found.append(descriptor or os.path.join(folder or "/", name))  # noqa: PTH118
    return found
