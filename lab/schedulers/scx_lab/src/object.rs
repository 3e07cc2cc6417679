//! The BPF object from embedded bytes to an attached scheduler.
//!
//! ```text
//! Loaded::load -> Loaded::attach -> Attached { arm, exit_info } -> Attached::detach
//! ```
//!
//! `run.rs` calls it. libbpf writes its warnings and the verifier's log to standard error.

use std::ops::Range;

use libbpf_rs::{Link, Map, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject};
use thiserror::Error;

use crate::{
    exit_info::ExitInfo,
    layout,
    ops_name::FIELD_LEN,
    request::{Fault, Rejection, Request},
};

/// An ELF file that is read in place must be aligned.
#[repr(C, align(8))]
struct Aligned<Bytes: ?Sized>(Bytes);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/lab.bpf.o")));

/// A scheduler that the kernel has verified but does not use yet.
pub(crate) struct Loaded(Object);

/// Dropping it detaches the scheduler, too.
pub(crate) struct Attached {
    link: Link,
    object: Object,
}

#[derive(Debug, Error)]
pub(crate) enum ObjectError {
    #[error("cannot open the embedded BPF object")]
    Open(#[source] libbpf_rs::Error),
    #[error("the embedded BPF object has no {0} of the expected size: rebuild scx_lab")]
    Layout(&'static str),
    #[error("the kernel refused to load the BPF program (libbpf's lines above say why)")]
    Load(#[source] libbpf_rs::Error),
    #[error("the kernel refused to attach the scheduler")]
    Attach(#[source] libbpf_rs::Error),
    #[error("cannot read or write {map} of the running scheduler")]
    Access {
        map: &'static str,
        #[source]
        source: libbpf_rs::Error,
    },
    #[error("the kernel detached the scheduler without calling ops.exit")]
    NoExitInfo,
}

impl Loaded {
    /// Configures the object for this request and has the kernel verify it.
    pub(crate) fn load(request: &Request) -> Result<Self, ObjectError> {
        // Without a name libbpf's messages have the address of the object.
        let mut object = ObjectBuilder::default()
            .name("scx_lab")
            .and_then(|builder| builder.open_memory(&OBJECT.0))
            .map_err(ObjectError::Open)?;
        configure(&mut object, request)?;
        object.load().map(Self).map_err(ObjectError::Load)
    }

    /// Makes it the scheduler of this kernel.
    pub(crate) fn attach(self) -> Result<Attached, ObjectError> {
        let Self(mut object) = self;
        let link = ops(&mut object)?
            .attach_struct_ops()
            .map_err(ObjectError::Attach)?;
        Ok(Attached { link, object })
    }
}

impl Attached {
    /// Makes the BPF program produce the fault at the next wake-up of any thread.
    pub(crate) fn arm(&self) -> Result<(), ObjectError> {
        map(&self.object, layout::TRIGGER)?
            .update(&layout::ONLY_KEY, &layout::ARMED, MapFlags::ANY)
            .map_err(|source| ObjectError::Access {
                map: layout::TRIGGER,
                source,
            })
    }

    /// What the kernel passed to `ops.exit`, once it was called.
    pub(crate) fn exit_info(&self) -> Result<Option<ExitInfo>, ObjectError> {
        exit_info(&self.object)
    }

    /// Detaches the scheduler and returns the kernel's reason, which differs from "unregistered" if the
    /// kernel has ejected it before.
    pub(crate) fn detach(self) -> Result<ExitInfo, ObjectError> {
        let Self { link, object } = self;
        // Closing the link returns only after the kernel has called ops.exit.
        drop(link);
        exit_info(&object)?.ok_or(ObjectError::NoExitInfo)
    }
}

fn configure(object: &mut OpenObject, request: &Request) -> Result<(), ObjectError> {
    // The whole field is written, to overwrite the default name.
    let mut name = [0; FIELD_LEN];
    for (slot, byte) in name.iter_mut().zip(request.name.as_str().bytes()) {
        *slot = byte;
    }
    write(object, layout::OPS, layout::OPS_NAME, &name)?;
    if let Some(timeout) = request.timeout {
        let milliseconds = timeout.milliseconds().to_ne_bytes();
        write(object, layout::OPS, layout::OPS_TIMEOUT_MS, &milliseconds)?;
    }
    let fault = layout::fault_number(request.fault).to_ne_bytes();
    write(object, layout::ORDER, layout::ORDER_FAULT, &fault)?;
    if request.fault == Some(Fault::Rejection(Rejection::Verifier)) {
        object
            .progs_mut()
            .find(|program| program.name() == layout::UNSAFE_PROGRAM)
            .ok_or(ObjectError::Layout(layout::UNSAFE_PROGRAM))?
            .set_autoload(true);
    }
    Ok(())
}

/// Writes into the initial value of a map that is not loaded yet.
fn write(
    object: &mut OpenObject,
    map: &'static str,
    range: Range<usize>,
    bytes: &[u8],
) -> Result<(), ObjectError> {
    object
        .maps_mut()
        .find(|candidate| candidate.name() == map)
        .as_mut()
        .and_then(|map| map.initial_value_mut())
        .and_then(|value| value.get_mut(range))
        .ok_or(ObjectError::Layout(map))?
        .copy_from_slice(bytes);
    Ok(())
}

fn map<'object>(object: &'object Object, name: &'static str) -> Result<Map<'object>, ObjectError> {
    object
        .maps()
        .find(|map| map.name() == name)
        .ok_or(ObjectError::Layout(name))
}

fn ops(object: &mut Object) -> Result<MapMut<'_>, ObjectError> {
    object
        .maps_mut()
        .find(|map| map.name() == layout::OPS)
        .ok_or(ObjectError::Layout(layout::OPS))
}

fn exit_info(object: &Object) -> Result<Option<ExitInfo>, ObjectError> {
    let record = map(object, layout::EXIT)?
        .lookup(&layout::ONLY_KEY, MapFlags::ANY)
        .map_err(|source| ObjectError::Access {
            map: layout::EXIT,
            source,
        })?;
    Ok(record.as_deref().and_then(ExitInfo::parse))
}
