program ranks
  use mpi
  implicit none
  integer :: code, rank, file, status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: at
  character(len=1024) :: block
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  block = repeat('x', 1024)
  at = rank * 1024
  call MPI_File_open(MPI_COMM_WORLD, 'shared', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
  call MPI_File_write_at_all(file, at, block, 1024, MPI_CHARACTER, status, code)
  call MPI_File_read_at(file, at, block, 512, MPI_CHARACTER, status, code)
  call MPI_File_close(file, code)
  call MPI_Finalize(code)
end program ranks
