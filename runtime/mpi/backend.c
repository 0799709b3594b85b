/*
 * What an MPI can be asked, for one ABI: compiled once with each header there is (MPI_HEADER), linked with no MPI. Every
 * function, and in Open MPI every constant, is found by name in the library that the process uses.
 */
#include MPI_HEADER
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi.h"

/* clang-format off */
#define FUNCTIONS(X) \
	X(Comm_size) X(Comm_rank) X(Comm_get_parent) X(Comm_idup) X(Comm_free) \
	X(Comm_set_errhandler) X(Error_class) X(Initialized) X(Finalized) X(Iallgather) X(Isend) X(Irecv) \
	X(Test) X(Cancel) X(File_open) X(File_iwrite_at_all) X(File_close) X(File_set_errhandler) \
	X(File_get_position) X(File_get_byte_offset) \
	X(Comm_test_inter) X(Comm_remote_size) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count) \
	X(Dist_graph_neighbors_count) X(Comm_group) X(Group_incl) X(Comm_create_group) X(Group_free) X(Info_create) X(Info_set) X(Info_free) \
	X(Type_get_envelope) X(Barrier)
/* clang-format on */

#if defined MPI_ABI_VERSION
#define IDENTITY          "abi"
#define COUNTED(X)        X(Type_size_c) X(Get_elements_c)
#define TYPE_SIZE         Type_size_c
#define GET_ELEMENTS      Get_elements_c
#define SESSION_X(X)      X(Session_fromint)
#define SESSION_OF(value) mpi.Session_fromint(value)
#elif defined OPEN_MPI
#define IDENTITY               "openmpi"
#define SESSION_X(X)           X(Session_f2c)
#define SESSION_OF(value)      mpi.Session_f2c(value)
/* clang-format off */
#define CONSTANTS(X) \
	X(ompi_mpi_comm_world) X(ompi_mpi_comm_null) X(ompi_mpi_byte) X(ompi_mpi_datatype_null) \
	X(ompi_mpi_info_null) X(ompi_mpi_file_null) X(ompi_request_null) X(ompi_mpi_errors_return)
/* clang-format on */
#define DECLARE_CONSTANT(name) static void *constant_##name;
CONSTANTS(DECLARE_CONSTANT)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, name) ((type)constant_##name)
#else
#define IDENTITY "mpich"
#define SESSION_X(X)
#define SESSION_OF(value) (value)
#endif

#ifndef COUNTED /* before MPI 4 there are no others */
#define COUNTED(X)   X(Type_size_x) X(Get_elements_x)
#define TYPE_SIZE    Type_size_x
#define GET_ELEMENTS Get_elements_x
#endif
#ifndef CONSTANTS
#define CONSTANTS(X)
#endif

#define OF_SESSIONS(X) X(Group_from_session_pset) X(Group_size) X(Group_rank) SESSION_X(X)

#define DECLARE_FUNCTION(name) __typeof__(PMPI_##name) *name;

static struct {
	FUNCTIONS(DECLARE_FUNCTION)
	COUNTED(DECLARE_FUNCTION)
#if MPI_VERSION >= 4
	OF_SESSIONS(DECLARE_FUNCTION)
	bool has_sessions;
#endif
} mpi;

static bool start(void *(*find)(const char *name))
{
	bool all = true;
#define FIND_FUNCTION(name) all = (mpi.name = (__typeof__(mpi.name))find(RESOLVE_NAME("PMPI_" #name))) && all;
	FUNCTIONS(FIND_FUNCTION)
	COUNTED(FIND_FUNCTION)
#define FIND_CONSTANT(name) all = (constant_##name = find(RESOLVE_NAME(#name))) && all;
	CONSTANTS(FIND_CONSTANT)
#if MPI_VERSION >= 4
	mpi.has_sessions = true;
#define FIND_OF_SESSIONS(name) \
	mpi.has_sessions = (mpi.name = (__typeof__(mpi.name))find(RESOLVE_NAME("PMPI_" #name))) && mpi.has_sessions;
	OF_SESSIONS(FIND_OF_SESSIONS)
#endif
	return all;
}

/* ---- handles: integers or pointers, in the low bits of what was passed ---- */

static int comm(uintptr_t handle, int *size, int *rank)
{
	int code = mpi.Comm_size((MPI_Comm)handle, size);
	return code ? code : mpi.Comm_rank((MPI_Comm)handle, rank);
}

static int64_t type_size(uintptr_t handle)
{
	MPI_Count n = -1;
	return mpi.TYPE_SIZE((MPI_Datatype)handle, &n) == MPI_SUCCESS ? (int64_t)n : -1;
}

static bool type_named(uintptr_t handle)
{
	int integers = 0, addresses = 0, types = 0, combiner = MPI_UNDEFINED;
	int code = mpi.Type_get_envelope((MPI_Datatype)handle, &integers, &addresses, &types, &combiner);
	return code == MPI_SUCCESS && combiner == MPI_COMBINER_NAMED;
}

static bool in_place(const void *buffer)
{
	return buffer == MPI_IN_PLACE;
}

static bool synchronize(uintptr_t handle)
{
	int inter = 0, n = 0;
	if (mpi.Comm_test_inter((MPI_Comm)handle, &inter) != MPI_SUCCESS || inter)
		return false;
	if (mpi.Comm_size((MPI_Comm)handle, &n) != MPI_SUCCESS || n < 2)
		return false;
	return mpi.Barrier((MPI_Comm)handle) == MPI_SUCCESS;
}

static int peers(uintptr_t handle)
{
	int inter = 0, n = 0;
	if (mpi.Comm_test_inter((MPI_Comm)handle, &inter) != MPI_SUCCESS)
		return 0;
	int code = inter ? mpi.Comm_remote_size((MPI_Comm)handle, &n) : mpi.Comm_size((MPI_Comm)handle, &n);
	return code == MPI_SUCCESS ? n : 0;
}

static int targets(uintptr_t handle)
{
	int kind = MPI_UNDEFINED, n = 0, rank = 0, sources = 0, weighted = 0;
	if (mpi.Topo_test((MPI_Comm)handle, &kind) != MPI_SUCCESS)
		return 0;
	if (kind == MPI_CART)
		return mpi.Cartdim_get((MPI_Comm)handle, &n) == MPI_SUCCESS ? 2 * n : 0;
	if (kind == MPI_DIST_GRAPH)
		mpi.Dist_graph_neighbors_count((MPI_Comm)handle, &sources, &n, &weighted);
	else if (kind == MPI_GRAPH && mpi.Comm_rank((MPI_Comm)handle, &rank) == MPI_SUCCESS)
		mpi.Graph_neighbors_count((MPI_Comm)handle, rank, &n);
	return n;
}

static bool info_is_null(uintptr_t handle)
{
	return (MPI_Info)handle == MPI_INFO_NULL;
}

static int64_t file_offset(uintptr_t handle, const int64_t *at)
{
	MPI_Offset in_view = at ? *at : -1, offset = -1;
	if (!at && mpi.File_get_position((MPI_File)handle, &in_view) != MPI_SUCCESS)
		return -1;
	return mpi.File_get_byte_offset((MPI_File)handle, in_view, &offset) == MPI_SUCCESS ? (int64_t)offset : -1;
}

static int mode(int given)
{
	static const int bits[] = {
		MPI_MODE_CREATE,      MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR,       MPI_MODE_DELETE_ON_CLOSE,
		MPI_MODE_UNIQUE_OPEN, MPI_MODE_EXCL,   MPI_MODE_APPEND, MPI_MODE_SEQUENTIAL,
	};
	int mode = 0;
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
		mode |= given & bits[i] ? 1 << i : 0;
	return mode;
}

#define KEY(type, null, handle) ((type)(handle) == (null) ? 0 : (uintptr_t)(type)(handle))

static uintptr_t key(enum mpi_handle kind, uintptr_t handle)
{
	switch (kind) {
	case MPI_HANDLE_COMM:
		return KEY(MPI_Comm, MPI_COMM_NULL, handle);
	case MPI_HANDLE_FILE:
		return KEY(MPI_File, MPI_FILE_NULL, handle);
	case MPI_HANDLE_INFO:
		return KEY(MPI_Info, MPI_INFO_NULL, handle);
	case MPI_HANDLE_TYPE:
		return KEY(MPI_Datatype, MPI_DATATYPE_NULL, handle);
	case MPI_HANDLE_REQUEST:
		return KEY(MPI_Request, MPI_REQUEST_NULL, handle);
	}
	return 0;
}

static size_t handle_size(enum mpi_handle kind)
{
	static const size_t sizes[] = {sizeof(MPI_Comm), sizeof(MPI_File), sizeof(MPI_Info), sizeof(MPI_Datatype),
				       sizeof(MPI_Request)};
	return sizes[kind];
}

static uintptr_t load(enum mpi_handle kind, const void *at)
{
	uintptr_t handle = 0;
	memcpy(&handle, at, handle_size(kind));
	return key(kind, handle);
}

static bool statuses_ignored(const void *statuses)
{
	return !statuses || statuses == (const void *)MPI_STATUS_IGNORE ||
	       statuses == (const void *)MPI_STATUSES_IGNORE;
}

static size_t status_size(void)
{
	return sizeof(MPI_Status);
}

static void statuses_prepare(void *statuses, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		((MPI_Status *)statuses)[i].MPI_ERROR = MPI_ERR_PENDING;
}

/* Statuses have an error of their own only when the call says so. MPICH 5 completes some without a word in theirs. */
static int64_t status_moved(int code, const void *statuses, int64_t i)
{
	MPI_Count n = MPI_UNDEFINED;
	const MPI_Status *status = statuses_ignored(statuses) ? NULL : (const MPI_Status *)statuses + i;
	int class = code;
	if (code != MPI_SUCCESS && (mpi.Error_class(code, &class) != MPI_SUCCESS || class != MPI_ERR_IN_STATUS))
		return MPI_MOVED_FAILED;
	if (!status || (code != MPI_SUCCESS && status->MPI_ERROR == MPI_ERR_PENDING))
		return MPI_MOVED_UNKNOWN;
	if (code != MPI_SUCCESS && status->MPI_ERROR != MPI_SUCCESS)
		return MPI_MOVED_FAILED;
	return mpi.GET_ELEMENTS(status, MPI_BYTE, &n) == MPI_SUCCESS && n >= 0 ? (int64_t)n : MPI_MOVED_UNKNOWN;
}

/* ---- the job ---- */

static int world(int *size, int *rank, bool *spawned)
{
	MPI_Comm parent = MPI_COMM_NULL;
	int code = comm((uintptr_t)MPI_COMM_WORLD, size, rank);
	*spawned = code == MPI_SUCCESS && mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
	return code;
}

#if MPI_VERSION >= 4
static int session_world(const void *at, bool fortran, int *size, int *rank)
{
	MPI_Group all;
	if (!mpi.has_sessions)
		return -1;
	MPI_Session session = fortran ? SESSION_OF(*(const int *)at) : *(const MPI_Session *)at;
	int code = mpi.Group_from_session_pset(session, "mpi://WORLD", &all);
	if (code)
		return code;
	mpi.Group_size(all, size);
	mpi.Group_rank(all, rank);
	return mpi.Group_free(&all);
}
#else
static int session_world(const void *at, bool fortran, int *size, int *rank)
{
	(void)at, (void)fortran, (void)size, (void)rank;
	return -1;
}
#endif

static bool may_communicate(void)
{
	int begun = 0, ended = 0;
	return mpi.Initialized(&begun) == MPI_SUCCESS && mpi.Finalized(&ended) == MPI_SUCCESS && begun && !ended;
}

enum { REQUESTS = 4096 };

/* Used by one thread: the one in MPI_Finalize. */
static MPI_Comm own;
static MPI_Request requests[REQUESTS];

static int open_begin(int request)
{
	return mpi.Comm_idup(MPI_COMM_WORLD, &own, &requests[request]);
}

static int open_end(void)
{
	return mpi.Comm_set_errhandler(own, MPI_ERRORS_RETURN);
}

static int close_own(void)
{
	return mpi.Comm_free(&own);
}

static int gather(int request, const void *from, void *to, int bytes)
{
	return mpi.Iallgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD, &requests[request]);
}

static int send(int request, const void *from, int64_t bytes, int to, int tag)
{
	return mpi.Isend(from, (int)bytes, MPI_BYTE, to, tag, own, &requests[request]);
}

static int receive(int request, void *to, int64_t bytes, int from, int tag)
{
	return mpi.Irecv(to, (int)bytes, MPI_BYTE, from, tag, own, &requests[request]);
}

static int test(int request, bool *done)
{
	int flag = 0;
	int code = mpi.Test(&requests[request], &flag, MPI_STATUS_IGNORE);
	*done = flag;
	return code;
}

static int cancel(int request)
{
	return mpi.Cancel(&requests[request]);
}

/* ---- writing by MPI-IO ---- */

/* Used by one thread: the one in MPI_Finalize. */
static MPI_File file;
static MPI_Comm writers;

static void set_hints(MPI_Info info, const char *hints)
{
	char key_text[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
	while (*hints) {
		size_t n = strcspn(hints, ";"), k = strcspn(hints, "=");
		if (k < n && k < sizeof key_text && n - k - 1 < sizeof value) {
			memcpy(key_text, hints, k);
			memcpy(value, hints + k + 1, n - k - 1);
			key_text[k] = value[n - k - 1] = '\0';
			mpi.Info_set(info, key_text, value);
		}
		hints += n + (hints[n] == ';');
	}
}

static int gather_writers(const int *ranks, int n)
{
	MPI_Group all, some;
	int code = mpi.Comm_group(own, &all);
	if (code)
		return code;
	code = mpi.Group_incl(all, n, ranks, &some);
	mpi.Group_free(&all);
	if (code)
		return code;
	code = mpi.Comm_create_group(own, some, 0, &writers);
	mpi.Group_free(&some);
	return code;
}

static int file_open(const char *path, const char *hints, const int *ranks, int n)
{
	MPI_Info info = MPI_INFO_NULL;
	int grouped = gather_writers(ranks, n);
	if (grouped)
		return grouped;
	if (mpi.Info_create(&info) == MPI_SUCCESS)
		set_hints(info, hints);
	int code = mpi.File_open(writers, path, MPI_MODE_WRONLY, info, &file);
	if (info != MPI_INFO_NULL)
		mpi.Info_free(&info);
	return code;
}

static int file_write_all(int request, int64_t at, const void *from, int64_t bytes)
{
	return mpi.File_iwrite_at_all(file, at, from, (int)bytes, MPI_BYTE, &requests[request]);
}

static int file_close(void)
{
	int code = mpi.File_close(&file);
	int freed = mpi.Comm_free(&writers);
	return code ? code : freed;
}

extern const struct mpi_backend iolens_mpi_backend __attribute__((visibility("default")));

const struct mpi_backend iolens_mpi_backend = {
	.version = MPI_BACKEND_VERSION,
	.size = sizeof(struct mpi_backend),
	.name = IDENTITY,
	.start = start,
	.comm = comm,
	.type_size = type_size,
	.type_named = type_named,
	.in_place = in_place,
	.synchronize = synchronize,
	.peers = peers,
	.targets = targets,
	.info_is_null = info_is_null,
	.file_offset = file_offset,
	.mode = mode,
	.key = key,
	.load = load,
	.handle_size = handle_size,
	.statuses_ignored = statuses_ignored,
	.status_size = status_size,
	.statuses_prepare = statuses_prepare,
	.status_moved = status_moved,
	.world = world,
	.session_world = session_world,
	.may_communicate = may_communicate,
	.open_begin = open_begin,
	.open_end = open_end,
	.close = close_own,
	.gather = gather,
	.send = send,
	.receive = receive,
	.test = test,
	.cancel = cancel,
	.file_open = file_open,
	.file_write_all = file_write_all,
	.file_close = file_close,
};
