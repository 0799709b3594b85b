"""What Darshan 3.4.7 takes on a machine of this kind, for the same numbers of ranks and files.

Medians in ms inside MPI_Finalize, next to the bare MPI_Finalize of those runs: MPICH 4.0.2, 2 processors, idle ranks
yielding, POSIX and heat map records of real opens. Bytes per file are published for Darshan 3.0.0 (2.3.0: 121.8 and
26.4) with POSIX and MPI-IO records: "Performance Evaluation of Darshan 3.0.0 on the Cray XC30", Tables I and III.
"""

from __future__ import annotations

BARE = {1: 4.1, 2: 3.7, 4: 20.0, 8: 35.0, 16: 75.0, 32: 150.0, 64: 357.0, 128: 827.0, 256: 2885.0}
SHUTDOWN = {
    "1 shared": {1: 0.7, 2: 0.9, 4: 4.7, 8: 6.7, 16: 40, 32: 357, 64: 371, 128: 1408, 256: 5024},
    "1024 shared": {1: 6.9, 2: 8.4, 4: 30, 8: 55, 16: 186, 32: 639, 64: 801, 128: 2464, 256: 8155},
    "1 own": {1: 0.8, 2: 0.8, 4: 3.4, 8: 6.9, 16: 26, 32: 383, 64: 343, 128: 1482, 256: 3962},
    "1024 own": {1: 7.1, 2: 7.0, 4: 27, 8: 39, 16: 260, 32: 772, 64: 838, 128: 8450, 256: 9674},
}
BYTES_PER_FILE = {"1 shared": 1075.0, "1024 shared": 54.6, "1 own": 243.5, "1024 own": 47.7}


def ratio(scene: str, ranks: int) -> float | None:
    """Its shutdown over the bare MPI_Finalize."""
    if ranks not in BARE or scene not in SHUTDOWN:
        return None
    return SHUTDOWN[scene][ranks] / BARE[ranks]
