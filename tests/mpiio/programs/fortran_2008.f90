! The same calls through the mpi_f08 module.
program fortran_2008
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Request) :: request, requests(2)
  integer :: rank, code
  integer(kind=MPI_OFFSET_KIND) :: at
  type(MPI_Status) :: status
  integer :: values(25)
  logical :: done

  values = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  at = rank * 100
  call MPI_File_open(MPI_COMM_WORLD, 'shared', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL, code)
  call MPI_File_write_at(file, at, values, 25, MPI_INTEGER, status, code)
  call MPI_File_write_at_all(file, at, values, 25, MPI_INTEGER, MPI_STATUS_IGNORE, code)
  call MPI_File_write_all_begin(file, values, 10, MPI_INTEGER, code)
  call MPI_File_write_all_end(file, values, status, code)
  call MPI_File_iread_at(file, at, values, 25, MPI_INTEGER, request, code)
  call MPI_Wait(request, status, code)
  call MPI_File_iread_at(file, at, values, 5, MPI_INTEGER, requests(1), code)
  call MPI_File_iread_at(file, at, values(10), 5, MPI_INTEGER, requests(2), code)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
  call MPI_File_iwrite_at(file, at, values, 5, MPI_INTEGER, request, code)
  done = .false.
  do while (.not. done)
    call MPI_Test(request, done, status, code)
  end do
  call MPI_File_seek(file, at, MPI_SEEK_SET, code)
  call MPI_File_read(file, values, 25, MPI_INTEGER, status, code)
  call MPI_File_sync(file, code)
  call MPI_File_close(file, code)
  call MPI_Finalize(code)
end program fortran_2008
