#include "file_system.h"

#include <stddef.h>
#include <string.h>

/* The first row that fits decides. A star at the end stands for anything; no source: any. */
static const struct row {
	const char *type, *source, *class;
} rows[] = {
	{"lustre", NULL, "lustre"},
	{"gpfs", NULL, "gpfs"},
	{"mmfs", NULL, "gpfs"},
	{"beegfs*", NULL, "beegfs"},
	{"fhgfs", NULL, "beegfs"},
	{"nfs", NULL, "nfs"},
	{"nfs4", NULL, "nfs"},
	{"cifs", NULL, "smb"},
	{"smb3", NULL, "smb"},
	{"ceph", NULL, "ceph"},
	{"fuse.ceph*", NULL, "ceph"},
	{"fuse.daos", NULL, "daos"},
	{"fuse.dfuse", NULL, "daos"},
	{"fuse.juicefs", NULL, "juicefs"},
	{"fuse.s3fs", NULL, "s3fs"},
	{"fuse.goofys", NULL, "s3"},
	{"fuse.mount-s3", NULL, "s3"},
	{"fuse.mountpoint-s3", NULL, "s3"},
	{"fuse.geesefs", NULL, "s3"},
	{"fuse.gcsfuse", NULL, "gcs"},
	{"fuse.rclone", NULL, "rclone"},
	{"fuse.glusterfs", NULL, "glusterfs"},
	{"fuse.sshfs", NULL, "sshfs"},
	{"fuse.fuse-overlayfs", NULL, "overlay"},
	{"fuse.squashfuse*", NULL, "image"},
	{"fuse", "dfuse*", "daos"},
	{"fuse", "JuiceFS:*", "juicefs"},
	{"fuse", "s3fs*", "s3fs"},
	{"fuse", "mountpoint-s3", "s3"},
	{"fuse", "goofys*", "s3"},
	{"fuse", "gcsfuse*", "gcs"},
	{"fuse", "beegfs*", "beegfs"},
	{"fuse*", NULL, "fuse"},
	{"pvfs2", NULL, "orangefs"},
	{"panfs", NULL, "panfs"},
	{"wekafs", NULL, "weka"},
	{"quobyte*", NULL, "quobyte"},
	{"afs", NULL, "afs"},
	{"9p", NULL, "host"},
	{"virtiofs", NULL, "host"},
	{"overlay", NULL, "overlay"},
	{"aufs", NULL, "overlay"},
	{"tmpfs", NULL, "memory"},
	{"ramfs", NULL, "memory"},
	{"devtmpfs", NULL, "memory"},
	{"squashfs", NULL, "image"},
	{"iso9660", NULL, "image"},
	{"erofs", NULL, "image"},
	{"ext*", NULL, "local"},
	{"xfs", NULL, "local"},
	{"btrfs", NULL, "local"},
	{"zfs", NULL, "local"},
	{"f2fs", NULL, "local"},
	{"jfs", NULL, "local"},
	{"vfat", NULL, "local"},
	{"exfat", NULL, "local"},
	{"ntfs*", NULL, "local"},
	{"bcachefs", NULL, "local"},
};

static bool fits(const char *pattern, const char *text)
{
	if (*pattern != *text)
		return false;
	size_t n = strlen(pattern);
	if (n && pattern[n - 1] == '*')
		return strncmp(pattern, text, n - 1) == 0;
	return strcmp(pattern, text) == 0;
}

const char *file_system_class(const char *type, const char *source)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (fits(rows[i].type, type) && (!rows[i].source || (source && fits(rows[i].source, source))))
			return rows[i].class;
	return "";
}

bool file_system_is_served(const char *type)
{
	static const char *const here[] = {"overlay", "memory", "image", "local", ""};
	const char *class = file_system_class(type, NULL);
	for (size_t i = 0; i < sizeof here / sizeof *here; i++)
		if (strcmp(class, here[i]) == 0)
			return false;
	return true;
}
