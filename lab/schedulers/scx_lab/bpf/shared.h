/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that the loader and the BPF program share.
 *
 * Each struct lives in a section of its own and therefore in a BPF map of its
 * own, so that a write of the loader can never overwrite a write of the program.
 * src/layout.rs has the same offsets; the assertions below fail the build if
 * only this side changes.
 */
#ifndef LAB_SHARED_H
#define LAB_SHARED_H

#include "kernel.h"

/* The faults that are produced inside the kernel; all others are the loader's. */
enum lab_fault : u32 {
	LAB_FAULT_NONE = 0,
	LAB_FAULT_STALL = 1,
	LAB_FAULT_SCX_ERROR = 2,
	LAB_FAULT_RUNTIME_ERROR = 3,
	LAB_FAULT_BPF_EXIT = 4,
	LAB_FAULT_REFUSE = 5,
};

/* Section .rodata.order: written once, before the program is loaded. */
struct lab_order {
	enum lab_fault fault;
};

/* Section .data.trigger: the loader sets it to produce the fault. */
struct lab_trigger {
	u32 armed;
};

/* Section .data.exit: what the kernel passed to ops.exit. */
struct lab_exit {
	u64 recorded;
	s64 kind;
	s64 exit_code;
	char reason[128];
	char msg[1024];
};

/*
 * The members of the real struct that are used here. libbpf moves each one to
 * the place it has in the running kernel. Name and timeout are overwritten by
 * the loader before it loads the object.
 */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u32 timeout_ms;
	char name[128];
};

#define ASSERT_AT(type, member, offset) \
	_Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member)

ASSERT_AT(struct sched_ext_ops, timeout_ms, 32);
ASSERT_AT(struct sched_ext_ops, name, 36);
ASSERT_AT(struct lab_exit, kind, 8);
ASSERT_AT(struct lab_exit, exit_code, 16);
ASSERT_AT(struct lab_exit, reason, 24);
ASSERT_AT(struct lab_exit, msg, 152);
_Static_assert(sizeof(struct lab_exit) == 1176, "struct lab_exit");

#endif
