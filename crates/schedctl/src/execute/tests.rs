//! Plans executed with a fake runtime on a fake kernel. The end-to-end tests use real ones.

mod attach;
mod swap;
mod trial;

use schedkit_runtime::ExitCode;

use super::*;
use crate::container::RuntimeContainer;
use crate::execute::failure::{NotAttached, NotAttachedReason};
use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
use crate::fixtures::launch;
use crate::plan::StartOptions;

const OPTIONS: StartOptions = StartOptions {
    wait: Some(WAIT),
    grace: Duration::from_secs(5),
    trial: None,
};

const WAIT: WaitLimits = WaitLimits {
    attach: Duration::from_secs(5),
    probation: Duration::ZERO,
};

async fn run(
    fake: &FakeRuntime,
    replaces: Option<RuntimeContainer>,
    options: StartOptions,
) -> Result<Success, Box<PlanFailure>> {
    let plan = Plan::new(&[], replaces.as_ref(), launch(), options);
    let interrupt = Interrupt::listen().unwrap();
    fake.with_executor(async |executor| execute(&plan, executor, &interrupt, &mut |_| ()).await)
        .await
}

fn not_attached(failure: &PlanFailure) -> &NotAttached {
    match &failure.cause {
        FailureCause::NotAttached(not_attached) => not_attached,
        other => panic!("{other:?}"),
    }
}
