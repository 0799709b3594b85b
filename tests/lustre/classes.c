/* File systems are told apart by type, and where that says little by source. */
#include "file_system.h"
#include "unit.h"

static const struct {
	const char *type, *source, *class;
	bool served;
} mounts[] = {
	{"lustre", "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch", "lustre", true},
	{"gpfs", "fs1", "gpfs", true},
	{"beegfs", "beegfs_nodev", "beegfs", true},
	{"nfs", "filer:/home", "nfs", true},
	{"nfs4", "filer:/home", "nfs", true},
	{"fuse.daos", "dfuse", "daos", true},
	{"fuse", "dfuse", "daos", true},
	{"fuse.s3fs", "s3fs", "s3fs", true},
	{"fuse", "s3fs", "s3fs", true},
	{"fuse", "mountpoint-s3", "s3", true},
	{"fuse.juicefs", "JuiceFS:pool", "juicefs", true},
	{"fuse", "JuiceFS:pool", "juicefs", true},
	{"fuse.sshfs", "me@there:", "sshfs", true},
	{"fuse", "bucket", "fuse", true},
	{"fuse.something", "thing", "fuse", true},
	{"fuse.fuse-overlayfs", "fuse-overlayfs", "overlay", false},
	{"overlay", "overlay", "overlay", false},
	{"tmpfs", "tmpfs", "memory", false},
	{"ext4", "/dev/sda1", "local", false},
	{"xfs", "/dev/mapper/home", "local", false},
	{"squashfs", "/dev/loop0", "image", false},
	{"notyet", "thing", "", false},
	{"lustre_lite", "thing", "", false},
	{"", "", "", false},
};

TEST(file_systems_are_told_apart)
{
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		unit_text(file_system_class(mounts[i].type, mounts[i].source), mounts[i].class, mounts[i].type,
			  __FILE__, __LINE__);
		unit_equal(file_system_is_served(mounts[i].type), mounts[i].served, mounts[i].type, __FILE__, __LINE__);
	}
	TEXT(file_system_class("fuse", NULL), "fuse");
	TEXT(file_system_class("nfs", NULL), "nfs");
}
