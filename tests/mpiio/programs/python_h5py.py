"""Parallel HDF5: every rank writes its row of a dataset, collectively, and reads it back."""

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
with h5py.File("shared.h5", "w", driver="mpio", comm=comm) as file:
    rows = file.create_dataset("rows", (comm.Get_size(), 1024), dtype="f8")
    with rows.collective:
        rows[comm.Get_rank()] = np.full(1024, comm.Get_rank(), dtype="f8")
with h5py.File("shared.h5", "r", driver="mpio", comm=comm) as file:
    assert (file["rows"][comm.Get_rank()] == comm.Get_rank()).all()
