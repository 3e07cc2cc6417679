/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel types and functions that the lab scheduler uses, written by hand so
 * that no vmlinux.h of one kernel has to be kept in the repository.
 *
 * Every struct names only the members that are used. libbpf finds their real
 * offsets in the running kernel's BTF when it loads the program, which is why one
 * object loads on every kernel of the lab although the structs differ there.
 *
 * What the loader needs to know is in shared.h.
 */
#ifndef LAB_KERNEL_H
#define LAB_KERNEL_H

typedef _Bool bool;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define WEAK_KFUNC __attribute__((weak, section(".ksyms")))
#define CORE __attribute__((preserve_access_index))

/* Whether libbpf found a weakly declared kernel function with that prototype. */
#define kfunc_exists(kfunc) (!!(kfunc))

enum { EPERM = 1 };

enum scx_consts_local : u64 {
	SCX_DSQ_GLOBAL = 0x8000000000000001ULL,
	SCX_SLICE_DFL = 20ULL * 1000 * 1000,
};

struct task_struct {
	char comm[16];
} CORE;

/* CO-RE matches an enum only with an enum; the value itself is never named here. */
enum scx_exit_kind { SCX_EXIT_NONE = 0 };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
} CORE;

static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size,
					       const void *unsafe_ptr) = (void *)115;

/*
 * Kernel functions, all of them weak.
 *
 * From 7.1 on they take the calling program as a hidden last argument that the
 * verifier fills in. BTF is to show the prototype without it; but the tool that
 * edits BTF when a kernel is built misses some functions, others in each build.
 * The verifier refuses every call of a function that was missed. libbpf takes
 * its longer prototype for a missing function, and a weak one may be missing:
 * the program asks kfunc_exists and does without, and src/kfunc.rs refuses
 * a fault that needs a missing function.
 *
 * libbpf ignores what follows the last three underscores of a name; the "compat"
 * keeps it from ignoring the "v2", which is part of the kernel's name.
 */
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
			       u64 enq_flags) WEAK_KFUNC;
extern bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
					     u64 enq_flags) WEAK_KFUNC;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				  bool *is_idle) WEAK_KFUNC;
extern void scx_bpf_error_bstr(char *fmt, u64 *data, u32 data__sz) WEAK_KFUNC;
extern void scx_bpf_exit_bstr(s64 exit_code, char *fmt, u64 *data, u32 data__sz) WEAK_KFUNC;

#endif
