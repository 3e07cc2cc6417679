/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lab's own sched_ext scheduler: one global first-in-first-out queue, and
 * faults that can be chosen.
 *
 *   wake-up -> select_cpu: an idle CPU if there is one
 *           -> enqueue:    produce the fault if armed, else append to the global queue
 *   any idle CPU takes the head of the global queue (done by the kernel)
 *
 * There is no cpu_online and no cpu_offline: the kernel ejects a scheduler without
 * them on every CPU hotplug and asks it to restart. Most real schedulers have
 * none either, and the lab tests this restart.
 */
#include "shared.h"

/* No queue has this number, because this scheduler never creates one. */
#define MISSING_DSQ 0x1ab

/* Neither asks for a restart (bit 48) nor claims a reason of the kernel (bit 32 up). */
#define BPF_EXIT_CODE 42

/* The thread that --fault stall starves; src/victim.rs gives it this name. */
#define VICTIM_COMM "lab-victim"

char _license[] SEC("license") = "GPL";

const volatile struct lab_order order SEC(".rodata.order") = {};
volatile struct lab_trigger trigger SEC(".data.trigger") = {};
struct lab_exit exit_record SEC(".data.exit") = {};

static char error_text[] SEC(".data.text") = "lab fault: scx_bpf_error on order";
static char exit_text[] SEC(".data.text") = "lab fault: scx_bpf_exit on order";

ALWAYS_INLINE bool is_victim(struct task_struct *p)
{
	static const char victim[] = VICTIM_COMM;

#pragma unroll
	for (u32 i = 0; i < sizeof(victim); i++)
		if (p->comm[i] != victim[i])
			return 0;
	return 1;
}

ALWAYS_INLINE void raise_error(void)
{
	u64 no_arguments = 0;

	if (kfunc_exists(scx_bpf_error_bstr))
		scx_bpf_error_bstr(error_text, &no_arguments, 0);
}

ALWAYS_INLINE void leave(void)
{
	u64 no_arguments = 0;

	if (kfunc_exists(scx_bpf_exit_bstr))
		scx_bpf_exit_bstr(BPF_EXIT_CODE, exit_text, &no_arguments, 0);
}

/* 6.19 brought a second form of the insertion; either will do. */
ALWAYS_INLINE void insert(struct task_struct *p, u64 dsq, u64 enq_flags)
{
	if (kfunc_exists(scx_bpf_dsq_insert))
		scx_bpf_dsq_insert(p, dsq, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dsq_insert___v2___compat(p, dsq, SCX_SLICE_DFL, enq_flags);
}

/*
 * The CPU is only chosen here and never dispatched to, so that every wake-up of
 * every thread passes through enqueue, which is where the faults are.
 */
SEC("struct_ops/lab_select_cpu")
s32 lab_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 prev_cpu = ctx[1];
	bool is_idle = 0;

	if (!kfunc_exists(scx_bpf_select_cpu_dfl))
		return prev_cpu;
	return scx_bpf_select_cpu_dfl(p, prev_cpu, ctx[2], &is_idle);
}

SEC("struct_ops/lab_enqueue")
void lab_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 enq_flags = ctx[1];
	u64 dsq = SCX_DSQ_GLOBAL;

	if (trigger.armed) {
		switch (order.fault) {
		case LAB_FAULT_STALL:
			/* A thread that is put nowhere runs nowhere. */
			if (is_victim(p))
				return;
			break;
		case LAB_FAULT_SCX_ERROR:
			raise_error();
			break;
		case LAB_FAULT_RUNTIME_ERROR:
			dsq = MISSING_DSQ;
			break;
		case LAB_FAULT_BPF_EXIT:
			leave();
			break;
		default:
			break;
		}
	}
	insert(p, dsq, enq_flags);
}

SEC("struct_ops.s/lab_init")
s32 lab_init(u64 *ctx)
{
	return order.fault == LAB_FAULT_REFUSE ? -EPERM : 0;
}

SEC("struct_ops/lab_exit_op")
void lab_exit_op(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	exit_record.kind = info->kind;
	exit_record.exit_code = info->exit_code;
	bpf_probe_read_kernel_str(exit_record.reason, sizeof(exit_record.reason), info->reason);
	bpf_probe_read_kernel_str(exit_record.msg, sizeof(exit_record.msg), info->msg);
	/* Last, and with a full barrier, so that a reader that sees it sees the rest too. */
	__sync_fetch_and_add(&exit_record.recorded, 1);
}

/*
 * Every verifier refuses it: a number used as an address. The question mark
 * keeps it out of every load but the one of --fault verifier.
 */
SEC("?syscall")
s32 lab_unsafe(u64 *ctx)
{
	return *(volatile s32 *)0x1ab;
}

SEC(".struct_ops.link")
struct sched_ext_ops lab_ops = {
	.select_cpu = (void *)lab_select_cpu,
	.enqueue = (void *)lab_enqueue,
	.init = (void *)lab_init,
	.exit = (void *)lab_exit_op,
	.timeout_ms = 0,
	.name = "lab",
};
