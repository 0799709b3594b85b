"""One cause of a parallel h5py program, or the same work without it: parallel.py FOLDER WHAT HOW COUNT."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

FOLDER = Path(sys.argv[1])
WHAT = sys.argv[2]
HOW = sys.argv[3]
COUNT = int(sys.argv[4])
COMM = MPI.COMM_WORLD


def rows() -> None:
    """COUNT rows of 1 KiB of each rank: one at a time, or all in one collective call."""
    first = COMM.rank * COUNT
    with h5py.File(FOLDER / "rows.h5", "w", driver="mpio", comm=COMM) as file:
        data = file.create_dataset("x", (COUNT * COMM.size, 128), "f8")
        if HOW == "each":
            row = np.ones(128)
            for i in range(COUNT):
                data[first + i] = row
        else:
            with data.collective:
                data[first : first + COUNT] = np.ones((COUNT, 128))


if __name__ == "__main__":
    time.sleep(0.1)
    COMM.Barrier()  # they start at different times
    globals()[WHAT]()
