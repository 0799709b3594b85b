! The interfaces of Fortran 90 and 77 end in the functions of C.
program fortran
  use mpi
  use pnetcdf
  implicit none
  integer :: code, file, n, v, values(8) = 0
  integer(kind=MPI_OFFSET_KIND) :: start(1) = 1, count(1) = 8
  call MPI_Init(code)
  call checked(nf90mpi_create(MPI_COMM_WORLD, 'fortran.nc', NF90_CLOBBER, MPI_INFO_NULL, file))
  call checked(nf90mpi_def_dim(file, 'n', 8_MPI_OFFSET_KIND, n))
  call checked(nf90mpi_def_var(file, 'v', NF90_INT, (/ n /), v))
  call checked(nf90mpi_enddef(file))
  call checked(nf90mpi_put_var_all(file, v, values, start, count))
  call checked(nfmpi_get_vara_int_all(file, v, start, count, values))
  call checked(nf90mpi_close(file))
  call MPI_Finalize(code)
contains
  subroutine checked(code)
    integer, intent(in) :: code
    if (code /= NF90_NOERR) stop 1
  end subroutine
end program
