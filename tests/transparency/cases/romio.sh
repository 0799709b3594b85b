# ROMIO's own tests by the MPI named in $mpi, from $source: who could be built, and for each exit code and sorted output.
# Left out: large_file and large_array write 4 GiB each, coll_perf is a benchmark of minutes, and atomicity does not end within
# 100 s by Open MPI's own MPI-IO, without iolens. Four ranks, as its runtests has it, and two or one where it says so.
# Bandwidths, times and handles are struck out; what fails is compared by its exit code.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 UCX_LOG_LEVEL=error
if [ "$romio" = 1 ]; then export OMPI_MCA_io=romio321; fi
mkdir b d
cc -O1 -shared -fPIC "$yield" -o b/yield.so # UCX spins through whole time slices where ranks outnumber processors
yielding=${LD_PRELOAD:+$LD_PRELOAD:}$PWD/b/yield.so
for f in "$source"/*.c "$source"/*.in; do
	case $f in
	*.c) sed '' "$f" >"b/${f##*/}" ;;
	*.c.in) sed 's/@LL@/lld/' "$f" >"b/$(basename "$f" .in)" ;;
	*.f.in) sed "s/@F77MPIOINC@//; s/@FORTRAN_MPI_OFFSET@/integer(kind=MPI_OFFSET_KIND)/
		s/@F77IARGC@/iargc()/; s/@F77GETARG@/call getarg(i, str)/" "$f" >"b/$(basename "$f" .in)" ;;
	esac
done
build() {
	case $1 in
	f*.f | pf*.f) "mpif77.$mpi" -std=legacy -w "b/$1" -o "b/${1%.f}" ;;
	*) "mpicc.$mpi" -w "b/$1" -o "b/${1%.c}" ;;
	esac >"b/$1.log" 2>&1
}
run() {
	n=$1 t=$2
	shift 2
	LD_PRELOAD=$yielding timeout 100 "mpirun.$mpi" -n "$n" "b/$t" "$@" >out 2>&1 </dev/null
	code=$?
	echo "$t: $code"
	[ $code != 0 ] || sed -E 's/[0-9.]+ (Mbytes|bytes)\/sec/ ./; s/(time|bandwidth|bw)[^=]*= .*/\1 ./I; s/pid[ :=]*[0-9]+/pid ./I; s/dtype -?[0-9]+/dtype ./' out | sort
	rm -rf d/*
}
for f in b/*.c b/*.f; do
	f=${f##*/} t=${f%.*}
	case $t-$mpi$romio in large_*-* | coll_perf-* | atomicity-openmpi0) continue ;; esac
	build "$f" || { echo "$t: not built"; continue; }
	case $t in
	error | status) run 1 "$t" -fname d/f ;;
	syshints) run 1 "$t" "$source/test_hintfile" ;;
	noncontig | i_noncontig | noncontig_coll) run 2 "$t" -fname d/f ;;
	types_with_zeros) run 2 "$t" d/f ;;
	aggregation1) run 4 "$t" -h -f d/f ;;
	aggregation2 | hindexed | darray_read | big_extents | external32) run 4 "$t" d/f ;;
	*) run 4 "$t" -fname d/f ;;
	esac
done
