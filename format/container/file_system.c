#include "file_system.h"

#include <stddef.h>
#include <string.h>

/*
 * The first row that fits decides. A star at the end stands for anything; no source: any. Texts in
 * place: pointers to them would be work for the dynamic linker in every process.
 */
static const struct row {
	char type[24], source[16], class[12];
} rows[] = {
	{"lustre", "", "lustre"},
	{"gpfs", "", "gpfs"},
	{"mmfs", "", "gpfs"},
	{"beegfs*", "", "beegfs"},
	{"fhgfs", "", "beegfs"},
	{"nfs", "", "nfs"},
	{"nfs4", "", "nfs"},
	{"cifs", "", "smb"},
	{"smb3", "", "smb"},
	{"ceph", "", "ceph"},
	{"fuse.ceph*", "", "ceph"},
	{"fuse.daos", "", "daos"},
	{"fuse.dfuse", "", "daos"},
	{"fuse.juicefs", "", "juicefs"},
	{"fuse.s3fs", "", "s3fs"},
	{"fuse.goofys", "", "s3"},
	{"fuse.mount-s3", "", "s3"},
	{"fuse.mountpoint-s3", "", "s3"},
	{"fuse.geesefs", "", "s3"},
	{"fuse.gcsfuse", "", "gcs"},
	{"fuse.rclone", "", "rclone"},
	{"fuse.glusterfs", "", "glusterfs"},
	{"fuse.sshfs", "", "sshfs"},
	{"fuse.fuse-overlayfs", "", "overlay"},
	{"fuse.squashfuse*", "", "image"},
	{"fuse", "dfuse*", "daos"},
	{"fuse", "JuiceFS:*", "juicefs"},
	{"fuse", "s3fs*", "s3fs"},
	{"fuse", "mountpoint-s3", "s3"},
	{"fuse", "goofys*", "s3"},
	{"fuse", "gcsfuse*", "gcs"},
	{"fuse", "beegfs*", "beegfs"},
	{"fuse*", "", "fuse"},
	{"pvfs2", "", "orangefs"},
	{"panfs", "", "panfs"},
	{"wekafs", "", "weka"},
	{"quobyte*", "", "quobyte"},
	{"afs", "", "afs"},
	{"9p", "", "host"},
	{"virtiofs", "", "host"},
	{"overlay", "", "overlay"},
	{"aufs", "", "overlay"},
	{"tmpfs", "", "memory"},
	{"ramfs", "", "memory"},
	{"devtmpfs", "", "memory"},
	{"squashfs", "", "image"},
	{"iso9660", "", "image"},
	{"erofs", "", "image"},
	{"ext*", "", "local"},
	{"xfs", "", "local"},
	{"btrfs", "", "local"},
	{"zfs", "", "local"},
	{"f2fs", "", "local"},
	{"jfs", "", "local"},
	{"vfat", "", "local"},
	{"exfat", "", "local"},
	{"ntfs*", "", "local"},
	{"bcachefs", "", "local"},
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
		if (fits(rows[i].type, type) && (!*rows[i].source || (source && fits(rows[i].source, source))))
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
