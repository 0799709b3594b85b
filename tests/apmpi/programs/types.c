/* Types of the MPI's own, asked for once, and types that are freed: their handles come again with other sizes. */
#include <mpi.h>

int main(int argc, char **argv)
{
	char buffer[400] = {0};
	MPI_Init(&argc, &argv);
	const MPI_Datatype own[] = {
		MPI_BYTE, MPI_SHORT, MPI_INT, MPI_INT64_T, MPI_FLOAT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_INT};
	for (int turn = 0; turn < 3; turn++)
		for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
			MPI_Bcast(buffer, turn, own[i], 0, MPI_COMM_SELF); /* 55 bytes of one each */
	for (int turn = 1; turn <= 3; turn++) {
		MPI_Datatype made, same;
		MPI_Type_contiguous(100 * turn, MPI_BYTE, &made);
		MPI_Type_commit(&made);
		MPI_Type_dup(own[turn], &same); /* 2, 4, 8 */
		for (int twice = 0; twice < 2; twice++) {
			MPI_Bcast(buffer, 1, made, 0, MPI_COMM_SELF);
			MPI_Bcast(buffer, 1, same, 0, MPI_COMM_SELF);
		}
		MPI_Type_free(&made);
		MPI_Type_free(&same);
	}
	MPI_Finalize();
	return 0;
}
