program fortran
  use mpi
  implicit none
  integer :: rank, n, code, request, status(MPI_STATUS_SIZE)
  integer :: sent(10), came(10), total(10)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, n, code)
  sent = rank
  call MPI_Irecv(came, 10, MPI_INTEGER, modulo(rank + n - 1, n), 1, MPI_COMM_WORLD, request, code)
  call MPI_Send(sent, 10, MPI_INTEGER, modulo(rank + 1, n), 1, MPI_COMM_WORLD, code)
  call MPI_Wait(request, status, code)
  call MPI_Allreduce(sent, total, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Allreduce(MPI_IN_PLACE, total, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Bcast(total, 10, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  call MPI_Finalize(code)
end program
