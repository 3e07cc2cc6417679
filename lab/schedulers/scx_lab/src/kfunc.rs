//! Checks that a BPF program can call the kernel function that the chosen fault needs.
//!
//! `run.rs` calls it before it loads anything. Since 7.1 some builds of the kernel describe a
//! function with a hidden argument in their BTF and then refuse every call of it (see
//! `bpf/kernel.h`): the fault would never happen, so it is refused here.

use std::path::Path;

use libbpf_rs::btf::{
    Btf,
    types::{Func, FuncProto},
};
use thiserror::Error;

use crate::{
    preflight::BTF,
    request::{BpfFault, Fault},
};

#[derive(Debug, Error)]
pub(crate) enum KfuncError {
    #[error("cannot read the kernel's BTF")]
    Btf(#[source] libbpf_rs::Error),
    #[error(
        "no BPF program can call {0} on this build of the kernel, because its BTF shows a hidden \
         argument: choose another fault or boot another kernel"
    )]
    NotCallable(&'static str),
}

/// Fails if the fault needs a kernel function that cannot be called under this root.
pub(crate) fn check(fault: Option<Fault>, root: &Path) -> Result<(), KfuncError> {
    let (name, arguments) = match fault {
        Some(Fault::Bpf {
            kind: BpfFault::ScxError,
            ..
        }) => ("scx_bpf_error_bstr", 3),
        Some(Fault::Bpf {
            kind: BpfFault::BpfExit,
            ..
        }) => ("scx_bpf_exit_bstr", 4),
        _ => return Ok(()),
    };
    let btf = Btf::from_path(root.join(BTF)).map_err(KfuncError::Btf)?;
    let callable = btf
        .type_by_name::<Func<'_>>(name)
        .and_then(|function| function.next_type())
        .and_then(|prototype| FuncProto::try_from(prototype).ok())
        .is_some_and(|prototype| prototype.len() == arguments);
    if callable {
        Ok(())
    } else {
        Err(KfuncError::NotCallable(name))
    }
}
