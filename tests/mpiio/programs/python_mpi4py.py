"""mpi4py, whichever MPI it is built for."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
data = bytearray(1000)
file = MPI.File.Open(comm, "shared", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at(rank * 1000, data)
file.Write_at_all(rank * 1000, data)
file.Iread_at(rank * 1000, data).Wait()
file.Read_at_all_begin(rank * 1000, data)
file.Read_at_all_end(data)
file.Sync()
file.Close()
