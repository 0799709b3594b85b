C     Rank r writes to own.<r>, by the old Fortran interface.
      PROGRAM OWNOLD
      INCLUDE 'mpif.h'
      INTEGER RANK, IERR
      CHARACTER*16 NAME
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      WRITE(NAME, '(A, I0)') 'own.', RANK
      OPEN(10, FILE=NAME, ACCESS='STREAM', FORM='UNFORMATTED')
      WRITE(10) NAME(1:8)
      CLOSE(10)
      CALL MPI_FINALIZE(IERR)
      END
