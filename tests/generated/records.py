"""What a record counts, as `docs/reference/counters.md` and decision 0003 say it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

EDGES = (
    ("0_100", 100),
    ("100_1K", 1024),
    ("1K_10K", 10240),
    ("10K_100K", 102400),
    ("100K_1M", 1 << 20),
    ("1M_4M", 4 << 20),
    ("4M_10M", 10 << 20),
)
POSIX_COUNTS = """OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES RENAME_TARGETS
BYTES_READ BYTES_WRITTEN MAX_BYTE_READ MAX_BYTE_WRITTEN CONSEC_READS CONSEC_WRITES SEQ_READS SEQ_WRITES RW_SWITCHES
MEM_NOT_ALIGNED FILE_NOT_ALIGNED""".split()
STDIO_COUNTS = """OPENS FDOPENS READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTE_READ
MAX_BYTE_WRITTEN""".split()
MEMORY_ALIGNMENT = 8
DISTINCT = 32


class Frequent:
    """Values by how often they came: the first 32 distinct ones, of which four are shown."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        if value in self.counts or len(self.counts) < DISTINCT:
            self.counts[value] = self.counts.get(value, 0) + 1

    def shown(self) -> list[tuple[int, int]]:
        ranked = sorted(((n, v) for v, n in self.counts.items() if v), reverse=True)[:4]
        return [(v, n) for n, v in ranked] + [(0, 0)] * (4 - len(ranked))


@dataclass
class Posix:
    """A file used through descriptors, in one process."""

    name: str
    alignment: int
    counts: Counter[str] = field(default_factory=Counter)
    sizes: Frequent = field(default_factory=Frequent)
    strides: Frequent = field(default_factory=Frequent)
    mode: int = 0
    renamed_from: str | None = None
    last_kind: str | None = None

    def access(self, kind: str, at: int, size: int, last: dict[str, int], shifted: bool) -> None:
        """`last`: the last byte read and written by the description."""
        reads, done = ("READS", "READ") if kind == "read" else ("WRITES", "WRITTEN")
        counts = self.counts
        counts[reads] += 1
        counts[f"BYTES_{done}"] += size
        counts[f"MAX_BYTE_{done}"] = max(counts[f"MAX_BYTE_{done}"], at + size - 1)
        counts[f"SEQ_{reads}"] += at > last[kind]
        counts[f"CONSEC_{reads}"] += at == last[kind] + 1
        counts["RW_SWITCHES"] += self.last_kind not in (None, kind)
        counts["MEM_NOT_ALIGNED"] += shifted
        counts["FILE_NOT_ALIGNED"] += self.alignment > 0 and at % self.alignment != 0
        edge = next(text for text, upper in EDGES if size <= upper)
        counts[f"SIZE_{kind.upper()}_{edge}"] += 1
        self.sizes.add(size)
        self.strides.add(at - last[kind] - 1 if at > max(last[kind], 0) and last[kind] != 0 else 0)
        self.last_kind = kind
        last[kind] = at + size - 1

    def used(self) -> bool:
        used = "OPENS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES RENAME_TARGETS"
        return any(self.counts[name] for name in used.split())

    def expected(self) -> dict[str, int | str | None]:
        found: dict[str, int | str | None] = {name: self.counts[name] for name in POSIX_COUNTS}
        for kind in ("READ", "WRITE"):
            found.update({f"SIZE_{kind}_{edge}": self.counts[f"SIZE_{kind}_{edge}"] for edge, _ in EDGES})
        for text, table, value in (("STRIDE", self.strides, "STRIDE"), ("ACCESS", self.sizes, "ACCESS")):
            for k, (shown, count) in enumerate(table.shown(), 1):
                found[f"{text}{k}_{value}"], found[f"{text}{k}_COUNT"] = shown, count
        found.update(MODE=self.mode, MEM_ALIGNMENT=MEMORY_ALIGNMENT, FILE_ALIGNMENT=self.alignment)
        return {**found, "RENAMED_FROM": self.renamed_from}


@dataclass
class Stdio:
    """A file used through streams, in one process."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)

    def access(self, kind: str, at: int, size: int) -> None:
        """One call that moved so many bytes; `at` is where they are in the file."""
        calls, done = ("READS", "READ") if kind == "read" else ("WRITES", "WRITTEN")
        self.counts[calls] += 1
        self.counts[f"BYTES_{done}"] += size
        self.counts[f"MAX_BYTE_{done}"] = max(self.counts[f"MAX_BYTE_{done}"], at + size - 1)

    def used(self) -> bool:
        if self.name.startswith("<"):
            return any(self.counts[name] for name in ("READS", "WRITES", "SEEKS", "FLUSHES"))
        return any(self.counts.values())

    def expected(self) -> dict[str, int | str | None]:
        return {name: self.counts[name] for name in STDIO_COUNTS}


@dataclass(eq=False)
class Image:
    """A program of a process: a rank of the log."""

    alignment: int
    posix: dict[str, Posix] = field(default_factory=dict)
    stdio: dict[str, Stdio] = field(default_factory=dict)
    pipes: Counter[str] = field(default_factory=Counter)
    names: dict[object, str] = field(default_factory=dict)
    """The record of each open file description."""
    last: dict[object, dict[str, int]] = field(default_factory=dict)
    """The last byte read and written through each of them."""
    hidden: set[object] = field(default_factory=set)
    """Descriptions that belong to streams: descriptors nobody has asked for."""
    marks: set[str] = field(default_factory=set)
    """What happened after which a known fault may show."""
    mapped: bool = False
    """Whether pages of a mapped file were touched."""
    ended: str = ""

    def posix_of(self, name: str) -> Posix:
        return self.posix.setdefault(name, Posix(name, self.alignment))

    def stdio_of(self, name: str) -> Stdio:
        return self.stdio.setdefault(name, Stdio(name))

    def last_of(self, description: object) -> dict[str, int]:
        return self.last.setdefault(description, {"read": 0, "write": 0})

    def forked(self) -> Image:
        return Image(self.alignment, names=dict(self.names), hidden=set(self.hidden), marks=set(self.marks))

    def forget(self, description: object) -> None:
        self.names.pop(description, None)
        self.last.pop(description, None)
        self.hidden.discard(description)
