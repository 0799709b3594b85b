! Rank r writes to `own.<r>`, by the Fortran 2008 interface.
program own
	use mpi_f08
	implicit none
	integer :: rank
	character(len=16) :: name
	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	write(name, '(a, i0)') 'own.', rank
	open(unit=10, file=name, access='stream', form='unformatted')
	write(10) name(1:8)
	close(10)
	call MPI_Finalize()
end program own
