/* As much of the kernel's structs as is read of them: where the members are the loader finds out (CO-RE). */
#ifndef IOLENS_KERNEL_TYPES_H
#define IOLENS_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long di, si, dx, r10, r8, orig_ax, cs;
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_blocksize;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_rdev;
	long long i_size;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	unsigned int f_flags;
	long long f_pos;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root, pwd;
};

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	unsigned long saved_auxv[2];
	struct file *exe_file;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct signal_struct {
	struct {
		int counter;
	} live;
	struct pid *pids[4]; /* thread, process, its group, its session */
};

struct cred {
	struct {
		unsigned int val;
	} uid;
};

struct task_struct {
	int pid, tgid, exit_code;
	struct task_struct *real_parent, *group_leader;
	const struct cred *cred;
	unsigned long long start_boottime;
	struct files_struct *files;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct signal_struct *signal;
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
