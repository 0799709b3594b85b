#include "dictionary.h"

#include <stdbool.h>
#include <string.h>

/*
 * One a line, numbered from 0: first the schemas of our tables, each behind its name, then what often stands in their
 * fields. Those behind localhost are of version 3, those behind vmsplice of version 4, those
 * behind ro,nosuid,nodev,noexec,relatime of version 6.
 */
static const char words[] =
	/* clang-format off */
	"process\nrank i64\npid i64\nparent i64\nforked i64\nhost str\nexe str\ncommand str\ndirectory str\n"
	"start f64 s\nend f64 s\nended str\nsignal i64\nexit_code i64\nthreads i64\nio_time f64 s\nread_time f64 s\n"
	"write_time f64 s\nmeta_time f64 s\nkernel_read i64 byte\nkernel_written i64 byte\nstorage_read i64 byte\n"
	"storage_written i64 byte\nseen_read i64 byte\nseen_written i64 byte\nunseen_read i64 byte\n"
	"unseen_written i64 byte\nnested_calls i64\nfolded_opens i64\nbudget i64 byte\nstart_cost f64 s\nmpi str\n"
	"mpi_start f64 s\nmpi_end f64 s\n"
	"total\nrank i64\ninterface str\nrecords i64\nopens i64\nreads i64\nwrites i64\nbytes_read i64 byte\n"
	"bytes_written i64 byte\nread_time f64 s\nwrite_time f64 s\nmeta_time f64 s\n"
	"excluded\nrank i64\nclass str\ndescription str\nopens i64\nreads i64\nwrites i64\nbytes_read i64 byte\n"
	"bytes_written i64 byte\n"
	"operation\nrank i64\ninterface str\nname str\ncount i64\nerrors i64\nbytes i64 byte\ntime f64 s\n"
	"mpiio_sizes\nrank i64\nkind str\ndirection str\nsize str\ncount i64\nbytes i64 byte\n"
	"mpiio_completions\nrank i64\nkind str\ndirection str\ncount i64\nerrors i64\nbytes i64 byte\nwait_time f64 s\n"
	"span_time f64 s\n"
	"timeline\nrank i64\nthread i64\nstart f64 s\nend f64 s\nread f64 s\nwrite f64 s\nmeta f64 s\n"
	"folded\nrank i64\nopens i64\nfiles i64\nbudget i64 byte\nsufficient_budget i64 byte\n"
	"folded_directory\nrank i64\ndirectory str\nopens i64\nsurplus i64\n"
	"unobserved\nrank i64\nprogram str\nreason str\ncount i64\n"
	"phase\nname str\ntime f64 s\n"
	"environment\nname str\nvalue str\n"
	"part\nrun i64\nfirst_rank i64\nnprocs i64\nlog str\njob i64\nuid i64\ncommand str\nbegin i64 ns\nend i64 ns\n"
	"offset f64 s\nmetadata str\n"
	"interval\nbegin i64 ns\nend i64 ns\noffset f64 s\n"
	"selection\nsource u64\n"
	"uncounted\nmodule str\ncounter str\n"
	"\nposix\nstdio\nmpiio\nunseen\niolens\n"
	"pipe\npipes and FIFOs\n"
	"socket\nsockets\n"
	"terminal\nterminals\n"
	"special\nother descriptors that are no files: event, timer, memory\n"
	"library\nshared libraries (.so) below an excluded directory\n"
	"python\nPython sources and byte code below an excluded directory\n"
	"program\nother files below /usr /bin /sbin /lib /opt /boot\n"
	"config\nfiles below /etc\n"
	"device\ndevices and files below /dev\n"
	"kernel\nfiles below /proc and /sys\n"
	"state\nfiles below /var\n"
	"filtered\nfiles that a filter setting excludes\n"
	"no_room\nfiles for which the directory of the stores had no room\n"
	"open\nclose\nstat\nseek\ndup\nsync\nfsync\nunlink\nrename\nlink\nsymlink\nreadlink\nmkdir\nrmdir\nopendir\n"
	"readdir\naccess\nchmod\nchown\nutime\ntruncate\nfallocate\nflock\nreadahead\nsendfile\nsplice\ntee\n"
	"copy_file_range\nmmap\nmsync\naio_submit\nflush\nset_view\nset_size\npreallocate\nseek_shared\ndelete\n"
	"io_submit\nio_uring_setup\nio_uring_enter\nraw_read\nraw_write\nraw_open\nnested\n"
	"independent\ncollective\nsplit\nnonblocking\nread\nwrite\n"
	"0_100\n100_1K\n1K_10K\n10K_100K\n100K_1M\n1M_4M\n4M_10M\n10M_100M\n100M_1G\n1G_PLUS\n"
	"unknown\nexit\nquick_exit\nexec\nfinalize\nabort\nsignal\nrunning\ntorn\nmissing\nno store\n"
	"static\nsetuid\nmachine\n"
	"mpich\nopenmpi\n"
	"wait\ngather\nstores\nsurvey\nnames\nreduce\nrecords\ntrailer\ncompress\njoin\n"
	"0.1.0\nsystem\nLinux\nx86_64\naarch64\nppc64le\nunreadable_stores\n0\n1\n"
	"/\n/bin/sh\nsh\n/usr/bin/bash\nbash\n/usr/bin/python3\npython3\nlocalhost\n"
	"unexplained_read i64 byte\nunexplained_written i64 byte\n"
	"socket_unix\nsockets between processes of a node\n"
	"socket_loopback\nconnections of a node with itself\n"
	"socket_private\nconnections to private addresses\n"
	"socket_public\nconnections to public addresses\n"
	"mpi\nfiles that the MPI opened while it started or ended\n"
	"send\nreceive\nlibaio\nio_uring\nmapped\nlost\nvmsplice\n"
	"locks\nrank i64\nfile str\nshared i64\nexclusive i64\nreleased i64\nrefused i64\nwait_time f64 s\n"
	"longest f64 s\n"
	"async\nrank i64\ninterface str\ndirection str\ncount i64\nerrors i64\nbytes i64 byte\nrecorded i64 byte\n"
	"untimed i64 byte\nfixed_files i64\nfixed_buffers i64\nwait_time f64 s\nspan_time f64 s\nlongest f64 s\n"
	"under_10us i64\nunder_100us i64\nunder_1ms i64\nunder_10ms i64\nunder_100ms i64\nslower i64\n"
	"async_batches\nrank i64\ninterface str\ncalls i64\nrequests i64\nlargest i64\nsize_1 i64\nsize_2_4 i64\n"
	"size_5_16 i64\nsize_17_64 i64\nsize_65_plus i64\n"
	"communication\nrank i64\nkind str\ncall str\ncount i64\nbytes i64 byte\ntime f64 s\nshortest f64 s\n"
	"longest f64 s\n"
	"phases\nrank i64\nphase str\ncount i64\nopen i64\ntime f64 s\nshortest f64 s\nlongest f64 s\nfirst f64 s\n"
	"last f64 s\nread_time f64 s\nwrite_time f64 s\nmeta_time f64 s\nreads i64\nwrites i64\nmeta_ops i64\n"
	"bytes_read i64 byte\nbytes_written i64 byte\n"
	"phase_interfaces\nrank i64\nphase str\ninterface str\nreads i64\nwrites i64\nbytes_read i64 byte\n"
	"bytes_written i64 byte\n"
	"steps\nrank i64\nphase str\ncount i64\nstart f64 s\nend f64 s\nio_time f64 s\nbytes_read i64 byte\n"
	"bytes_written i64 byte\n"
	"platform\nhost str\nname str\nvalue str\nnumber f64\nunit str\n"
	"mounted\nhost str\npoint str\ntype str\nsource str\noptions str\nclass str\n"
	"volume\nname str\nsource str\nosts i64\nmdts i64\n"
	"target\nvolume str\nkind str\nnumber i64\nserver str\n"
	"accesses\nmodule str\noffset u64 offset\nstored u64 bytes\nincomplete u64\n"
	"kernel\ncpu_model\ncpus_online\ncpus_allowed\ncpu_list\nnuma_nodes\nnuma_list\nmemory_total\nswap_total\n"
	"dirty_ratio\ndirty_background_ratio\ncgroup_version\ncgroup\nmemory_limit\ncontainer\nmounts_left_out\n"
	"cpu\nnode\nbyte\n%\nversion\nprocess\nMiB\nmount\n0-1\n0-3\n"
	"scheduler\nSlurm\nPBS\nLSF\nFlux\njob_id\njob_step\njob_name\ncluster\nqueue\naccount\nquality_of_service\n"
	"reservation\njob_nodes\njob_tasks\ntasks_per_node\ncpus_per_task\ncpus_per_node\nmemory_per_node\nnode_list\n"
	"array_job\narray_task\n"
	"memory\nlocal\nlustre\nnfs\ngpfs\nbeegfs\nfuse\noverlay\nimage\ntmpfs\ndevtmpfs\next4\nxfs\nbtrfs\nnfs4\nvfat\n"
	"/dev\n/dev/shm\n/run\n/run/lock\n/tmp\n/home\n/boot\n/sys/fs/cgroup\nrw,relatime\nrw,nosuid,nodev\n"
	"rw,nosuid,nodev,noexec,relatime\nrw,nosuid,nodev,relatime\n"
	"hdf5\nhdf5_dataset\npnetcdf\ntraces\nseen\n"
	"ro,nosuid,nodev,noexec,relatime\n"
	"process\nrank i64\npid i64\nparent i64\nforked i64\nhost str\nexe str\ncommand str\ndirectory str\n"
	"start f64 s\nend f64 s\nended str\nsignal i64\nexit_code i64\nthreads i64\nio_time f64 s\nread_time f64 s\n"
	"write_time f64 s\nmeta_time f64 s\nkernel_read i64 byte\nkernel_written i64 byte\nstorage_read i64 byte\n"
	"storage_written i64 byte\nseen_read i64 byte\nseen_written i64 byte\nunseen_read i64 byte\n"
	"unseen_written i64 byte\nunexplained_read i64 byte\nunexplained_written i64 byte\nnested_calls i64\n"
	"folded_opens i64\nbudget i64 byte\nstart_cost f64 s\nmpi str\nmpi_start f64 s\nmpi_end f64 s\nsampled_times\n"
	"rank i64\ncalls i64\ntime f64 s\ntimed i64\ndoubtful i64\ndoubtful_time f64 s\nasync\nrank i64\n"
	"interface str\ndirection str\ncount i64\nerrors i64\nbytes i64 byte\nrecorded i64 byte\nuntimed i64 byte\n"
	"fixed_files i64\nfixed_buffers i64\nwait_time f64 s\nspan_time f64 s\nlongest f64 s\nunder_10us i64\n"
	"under_100us i64\nunder_1ms i64\nunder_10ms i64\nunder_100ms i64\nslower i64\nestimated i64 byte\nobservers\n"
	"rank i64\npid i64\nstart f64 s\nobserver str\nsites\ninterface str\nmodule str\nbuild_id str\n"
	"offset u64 offset\nfile u64\nranks i64\nposix_aio\nswap_limit\ncpu_limit\nmemory_per_cpu\ncontainer_image\n"
	"topology\ninterconnect_mlx5_0\napptainer\ndocker\npodman\nkubernetes\nramfs\nsquashfs\nzfs\nceph\n"
	"fuse.sshfs\n/scratch\n/usr\n/var\n/mnt\nrw,noatime\nrw,relatime,errors=remount-ro\ngeneric\ntotals\n";
/* clang-format on */

static uint32_t kind_of(struct word w)
{
	uint8_t first = w.length ? (uint8_t)w.at[0] : 0, last = w.length ? (uint8_t)w.at[w.length - 1] : 0;
	return (first * 37u + last * 11u + (uint32_t)w.length * 101u) % DICTIONARY_KINDS;
}

static void work_out(struct dictionary *w)
{
	const char *at = words;
	memset(w->first, 0, sizeof w->first);
	for (int number = 0; number < DICTIONARY_WORDS; number++) {
		w->begin[number] = (uint16_t)(at - words);
		at = strchr(at, '\n') + 1;
	}
	w->begin[DICTIONARY_WORDS] = (uint16_t)(at - words);
	for (int number = DICTIONARY_WORDS - 1; number >= 0; number--) {
		uint16_t *first = &w->first[kind_of(dictionary_at(w, (uint64_t)number))];
		w->next[number] = *first;
		*first = (uint16_t)(number + 1);
	}
}

const struct dictionary *dictionary_all(struct dictionary *room)
{
	enum { NEW, BEING_MADE, MADE };
	static struct dictionary all;
	static int state;
	int now = NEW;
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == MADE)
		return &all;
	if (!__atomic_compare_exchange_n(&state, &now, BEING_MADE, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		work_out(room);
		return room;
	}
	work_out(&all);
	__atomic_store_n(&state, MADE, __ATOMIC_RELEASE);
	return &all;
}

struct word dictionary_at(const struct dictionary *w, uint64_t number)
{
	if (number >= DICTIONARY_WORDS)
		return (struct word){0};
	return (struct word){words + w->begin[number], (size_t)(w->begin[number + 1] - w->begin[number] - 1)};
}

uint64_t dictionary_find(const struct dictionary *w, struct word wanted, uint64_t first)
{
	uint64_t found = DICTIONARY_NONE;
	for (uint64_t next = w->first[kind_of(wanted)]; next; next = w->next[next - 1]) {
		struct word one = dictionary_at(w, next - 1);
		if (one.length != wanted.length || memcmp(one.at, wanted.at, wanted.length) != 0)
			continue;
		if (next - 1 >= first)
			return next - 1;
		found = found == DICTIONARY_NONE ? next - 1 : found;
	}
	return found;
}
