//! How a scheduler ended, as a sentence with a remedy.

use schedkit_core::sanitize;

use crate::live_pod::ContainerExit;

pub(crate) fn exit_text(last_exit: &ContainerExit) -> String {
    let Some(exit_message) = &last_exit.exit_message else {
        let reason = match last_exit.reason.as_str() {
            "" => "no reason",
            reason => reason,
        };
        return format!(
            "the scheduler ended with exit code {} ({}) and without output; see its log with kubectl \
             logs --previous",
            last_exit.code,
            sanitize::brief(reason)
        );
    };
    let detail = match exit_message.message.as_str() {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    let exit_reason = &exit_message.reason;
    let remedy = exit_reason
        .remedy()
        .unwrap_or("see its log with kubectl logs --previous");
    format!("{}: {exit_reason}{detail}; {remedy}", exit_reason.as_str())
}
