/* Program images: how they come, and go. */
#ifndef IOLENS_IMAGES_BPF_H
#define IOLENS_IMAGES_BPF_H

#include "records.bpf.h"

INLINE void describe(struct scratch *s, struct task_struct *task, __u32 event, __u64 image)
{
	s->head.event = event;
	s->head.image = image;
	s->head.when = bpf_ktime_get_ns();
	s->head.pid = task->tgid;
	s->head.parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	s->head.group = BPF_CORE_READ(task, signal, pids[2], numbers[0].nr);
	s->head.user = BPF_CORE_READ(task, cred, uid.val);
	s->head.path = s->head.base = s->head.args = 0;
}

INLINE __u64 new_image(struct scratch *s)
{
	__u64 image = __sync_fetch_and_add(&sums.images, 1) + 1;
	bpf_map_update_elem(&images, &image, &s->new_image, BPF_ANY);
	return image;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct thread *from = bpf_task_storage_get(&threads, parent, 0, 0);
	bool of_root = settings.root && parent->tgid == settings.root;
	if (!of_root && (!from || !from->member))
		return 0;
	struct thread *to = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct scratch *s = scratch();
	if (!to || !s)
		return 0;
	to->member = 1;
	if (!from || !from->image)
		return 0;
	to->image = from->image;
	if (child->tgid == parent->tgid)
		return 0;
	to->image = new_image(s);
	describe(s, child, OBSERVED_EVENT_FORK, to->image);
	s->head.parent_pid = parent->tgid;
	s->head.parent = from->image;
	emit(s, 0);
	return 0;
}

/* The kernel has loaded no interpreter for it: it is statically linked, or has an interpreter's place in itself. */
INLINE bool is_static(struct task_struct *task)
{
	enum { AT_NULL, AT_BASE = 7, PAIRS = 24 };
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	unsigned long pair[2] = {};
	for (int i = 0; mm && i < PAIRS; i++) {
		const char *at = (const char *)mm + bpf_core_field_offset(struct mm_struct, saved_auxv);
		if (bpf_probe_read_kernel(pair, sizeof pair, at + i * sizeof pair) || pair[0] == AT_NULL)
			break;
		if (pair[0] == AT_BASE)
			return !pair[1];
	}
	return mm;
}

/* Of a node: static programs of users. */
INLINE bool wanted(struct task_struct *task)
{
	return BPF_CORE_READ(task, cred, uid.val) >= settings.least_user && is_static(task);
}

/* Before the exec it belongs to, in pieces. */
static __attribute__((noinline)) int send_environment(struct task_struct *task, __u64 image)
{
	enum { PIECES = 16 };
	struct scratch *s = scratch();
	unsigned long at = BPF_CORE_READ(task, mm, env_start), end = BPF_CORE_READ(task, mm, env_end);
	if (!s)
		return 0;
	describe(s, task, OBSERVED_EVENT_ENVIRONMENT, image);
	for (int i = 0; i < PIECES && at < end; i++) {
		unsigned long n = end - at > OBSERVED_ENVIRONMENT ? OBSERVED_ENVIRONMENT : end - at;
		if (bpf_probe_read_user(s->text, n, (void *)at) != 0)
			break;
		s->head.path = n;
		emit(s, n);
		at += n;
	}
	return 0;
}

/* The program's file, as the text's beginning; where it ends. */
INLINE __u32 describe_program(struct scratch *s, struct task_struct *task)
{
	struct file *exe = BPF_CORE_READ(task, mm, exe_file);
	__u32 used =
		append_directories(0, (__u64)BPF_CORE_READ(exe, f_path.dentry), (__u64)BPF_CORE_READ(exe, f_path.mnt));
	s->head.path = used;
	return used;
}

/* It is another program now, that is none of ours. */
INLINE void end_image(struct scratch *s, struct task_struct *task, struct thread *t)
{
	if (t->image) {
		describe(s, task, OBSERVED_EVENT_EXEC, 0);
		s->head.parent = t->image;
		emit(s, 0);
	}
	t->image = t->member = 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	bool node = !settings.root, ours = node && wanted(task);
	struct thread *t = bpf_task_storage_get(&threads, task, 0, ours ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	struct scratch *s = scratch();
	if (!t || !s || (!node && !t->member))
		return 0;
	if (node && !ours) {
		end_image(s, task, t);
		return 0;
	}
	__u64 before = t->image;
	t->member = 1;
	t->image = new_image(s);
	t->start = 0;
	if (node)
		send_environment(task, t->image);
	describe(s, task, OBSERVED_EVENT_EXEC, t->image);
	s->head.parent = before;
	__u32 used = describe_program(s, task);
	unsigned long start = BPF_CORE_READ(task, mm, arg_start), n = BPF_CORE_READ(task, mm, arg_end) - start;
	n = n > OBSERVED_ARGS ? OBSERVED_ARGS : n;
	if (used <= 2 * OBSERVED_PATH && bpf_probe_read_user(&s->text[used], n, (void *)start) == 0) {
		s->head.args = n;
		used += n;
	}
	emit(s, used);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct scratch *s = scratch();
	if (!t || !s || !t->image || BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	describe(s, task, OBSERVED_EVENT_EXIT, t->image);
	s->head.status = task->exit_code;
	emit(s, 0);
	return 0;
}

/* Goes through all threads of a node once: programs that began before the companion. A process's first thread is the first. */
SEC("iter/task")
int running(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scratch *s = scratch();
	if (!task || !s || !wanted(task))
		return 0;
	struct task_struct *leader = task->group_leader;
	struct thread *first = leader ? bpf_task_storage_get(&threads, leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : 0;
	if (!first)
		return 0;
	if (!first->image && !first->member) {
		first->member = 1;
		first->image = new_image(s);
		describe(s, leader, OBSERVED_EVENT_RUNNING, first->image);
		emit(s, describe_program(s, leader));
	}
	struct thread *t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t || t == first || t->member)
		return 0;
	t->member = 1;
	t->image = first->image;
	return 0;
}

#endif
