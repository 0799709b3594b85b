"""How long the end of a job takes at any number of ranks: Darshan's way, and iolens' ways, on one machine.

A model, not a measurement. It adds up what each way does: rounds of small messages, bytes over the slowest link,
records merged, bytes deflated, stores read, pieces and bytes written, one file created and renamed. What each of these
costs comes from a `Machine`; what iolens' own work costs per store and record comes from the phases that bench/shutdown
has measured (fit.py). Times are seconds, sizes bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DARSHAN_RECORD = 1328  # of one file, Darshan 2.3: Snyder et al. 2016, Table II
SCENES = {"1 shared": (1, 0), "1024 shared": (1024, 0), "1 own": (0, 1), "1024 own": (0, 1024)}

Phases = dict[str, float]


@dataclass(frozen=True)
class Machine:
    """What a step costs. The defaults are Hopper's."""

    name: str
    cores_per_node: int
    round: float  # of small messages, among all ranks: latency, and what the slowest rank is late
    link: float  # bytes per second into one node
    merge: float  # seconds per byte of record and round in a reduction of Darshan's records
    deflate: float  # bytes per second of one core, zlib's default level
    create: float  # seconds to create, open on all who write, close and rename one file
    piece: float  # seconds per rank that has something to write, in one collective write
    write: float  # bytes per second into one shared file
    core: float  # how many times slower a core is than those of bench/shutdown


@dataclass(frozen=True)
class Published:
    """Total seconds and the shares of aggregation, compression and storing."""

    seconds: float
    shares: tuple[float, float, float]

    def phase(self, number: int) -> float:
        return self.seconds * self.shares[number]


# Carns et al., "Production I/O Characterization on the Cray XE6" (2013), Table 2: 98,304 ranks of Hopper.
HOPPER_RANKS = 98304
HOPPER = {
    "1 shared": Published(0.17, (0.033, 0.001, 0.953)),
    "1024 shared": Published(0.24, (0.231, 0.094, 0.669)),
    "1 own": Published(12.27, (0.002, 0.000, 0.998)),
    "1024 own": Published(24.76, (0.000, 0.001, 0.998)),
}
# Bytes of Darshan 2.3's log per file: Snyder et al. 2016, Tables I and III.
DARSHAN_FILE = {"1 shared": 891.0, "1024 shared": 27.3, "1 own": 121.8, "1024 own": 26.4}
# zlib's default level on the bench's records, one core of the machine that bench/shutdown ran on.
HERE_DEFLATE = 244e6
# Seconds of processor time that a message of some KiB takes its receiver, on top of latency and bytes. An assumption:
# MPI libraries receive a million small ones per second and core at best.
MESSAGE = 2e-6
# Collective calls of Darshan's shutdown that all ranks take part in, those that go up and down counted twice: barrier,
# active modules, name ids and masks of shared records, log name, three reductions, scan of the sizes, three outcomes.
ROUNDS = 18
# Exchanges among all ranks of iolens' shutdown: a communicator is made, names of nodes gathered. Passes up or down the
# tree of node leaders: survey, decision, shares, offsets, written, outcome. Both by what Open MPI counts (--messages).
EXCHANGES, PASSES = 5, 6
AGGREGATORS = 4
PART = 1 << 20  # bytes of rows that a leader encodes itself when it has them: format/join/join.h


def rounds(ranks: int) -> int:
    return math.ceil(math.log2(ranks)) if ranks > 1 else 0


def files(scene: str, ranks: int) -> int:
    shared, own = SCENES[scene]
    return shared + own * ranks


def darshan(m: Machine, scene: str, ranks: int) -> Phases:
    """Every rank for itself: records of shared files are reduced to rank 0, each rank deflates, all write together."""
    shared, own = SCENES[scene]
    levels = rounds(ranks)
    ids = 3 * 8 * (shared + own)  # of rank 0's names: once down, masks up and down
    aggregate = ROUNDS * levels * m.round + levels * ids / m.link + levels * shared * DARSHAN_RECORD * m.merge
    deflate = (shared + own) * DARSHAN_RECORD / m.deflate
    pieces = ranks if own else 1
    log = files(scene, ranks) * DARSHAN_FILE[scene]
    return {
        "aggregate": aggregate,
        "compress": deflate,
        "store": m.create + (pieces - 1) * m.piece + log / m.write,
    }


def hopper() -> Machine:
    """Its costs from its published times: as many unknowns as the four scenes determine, each from the phase it rules.

    Cores per node and the bandwidth of a node's link (Gemini, some 6 GB/s) are the machine's description.
    """
    levels = rounds(HOPPER_RANKS)
    one, many = HOPPER["1 shared"], HOPPER["1024 shared"]
    small, large = HOPPER["1 own"], HOPPER["1024 own"]
    bytes_of = {scene: files(scene, HOPPER_RANKS) * DARSHAN_FILE[scene] for scene in SCENES}
    write = (bytes_of["1024 own"] - bytes_of["1 own"]) / (large.phase(2) - small.phase(2))
    create = (one.phase(2) + many.phase(2)) / 2
    deflate = 1024 * DARSHAN_RECORD / many.phase(1)
    link = 6e9
    per_round = one.phase(0) / (ROUNDS * levels)
    merge = many.phase(0) - one.phase(0) - levels * 3 * 8 * 1024 / link
    return Machine(
        name="Hopper",
        cores_per_node=24,
        round=per_round,
        link=link,
        merge=merge / (levels * 1024 * DARSHAN_RECORD),
        deflate=deflate,
        create=create,
        piece=(small.phase(2) - create - bytes_of["1 own"] / write) / (HOPPER_RANKS - 1),
        write=write,
        core=HERE_DEFLATE / deflate,
    )


@dataclass(frozen=True)
class Work:
    """What iolens' own work costs on the machine of bench/shutdown, and how many bytes it moves; fitted by fit.py."""

    once: float  # seconds of one assembly whatever is in it
    store: float  # seconds per store in it
    shared_record: float  # seconds per store and file that all ranks share: found, merged
    own_record: (
        float  # seconds per file of one rank: found, packed, deflated unless its rank has done so, named
    )
    deflate: float  # seconds per file of its own that a rank spends itself, all ranks at the same time
    log_once: float  # bytes of a log whatever is in it
    log_store: float  # bytes of it per rank: the extension trailer
    log_file: dict[str, float]  # bytes of it per file, by scene


@dataclass(frozen=True)
class Join:
    """What leaders do with the shares of others; measured by joining.py."""

    add: float  # seconds per rank: its rows of the trailer are added to those of others,
    encode: float  # encoded,
    part: float  # and, once they are, copied
    row_bytes: float
    part_bytes: float  # the same, encoded
    merge: float  # seconds per file that all ranks share, POSIX and MPI-IO records
    record_bytes: float


def log_size(w: Work, scene: str, ranks: int) -> float:
    return w.log_once + w.log_store * ranks + w.log_file[scene] * files(scene, ranks)


def assembly(w: Work, core: float, scene: str, stores: int) -> float:
    """Seconds that one process takes to make one log of so many stores."""
    shared, own = SCENES[scene]
    return core * (w.once + stores * (w.store + shared * w.shared_record + own * w.own_record))


def messages(ranks: int, nodes: int) -> int:
    """That all ranks send in all, as long as none is cut in two."""
    loads = max(nodes - AGGREGATORS, 0)
    return EXCHANGES * ranks * rounds(ranks) + PASSES * (nodes - 1) + loads


def rows(m: Machine, j: Join, ranks: int, here: int) -> float:
    """Seconds until the rows of all ranks are in the log.

    A leader adds up rows of others until it has a part's, twice as many at most, encodes them and tells them on; so
    does the first one with those that it has itself. What is encoded is only copied.
    """
    held = min(ranks - here, 2 * PART / j.row_bytes)
    moved = held * j.row_bytes + (ranks - here) * j.part_bytes
    return m.core * (held * (j.add + 2 * j.encode) + (ranks - here) * j.part) + moved / m.link


def leaders(m: Machine, w: Work, j: Join, scene: str, ranks: int) -> Phases:
    """Ranks deflate their own files, one per node makes its share; shared records go up a tree; a few write."""
    shared, own = SCENES[scene]
    here = min(ranks, m.cores_per_node)
    nodes = math.ceil(ranks / m.cores_per_node)
    log = log_size(w, scene, ranks)
    level = shared * (j.record_bytes / m.link + m.core * j.merge)
    return {
        "deflate": m.core * w.deflate * own,
        "meet": EXCHANGES * rounds(ranks) * m.round + 8 * ranks * here / m.link,
        "assemble": assembly(w, m.core, scene, here),
        "agree": PASSES * rounds(nodes) * m.round,
        "reduce": rounds(nodes) * level,
        "rows": rows(m, j, ranks, here),
        "gather": (nodes * MESSAGE * m.core + log / m.link) / AGGREGATORS if nodes > 1 else 0.0,
        "store": m.create + log / m.write,
    }


def total(phases: Phases) -> float:
    return sum(phases.values())
