//! Why a scheduler does not run, as `run` and `switch` tell it: the reason, what the scheduler said
//! last, what to do, and how things are now.

use schedkit_runtime::DriverError;
use serde::Serialize;

use super::sentence;
use crate::cmd::Distrust;
use crate::decide::Refusal;
use crate::execute::{Aftermath, Cause, Failure};
use crate::exit::Exit;

/// Told on standard error, and with `-o json` as the document.
#[derive(Debug, Serialize)]
pub(crate) struct Told {
    pub(crate) message: String,
    pub(crate) exit_code: u8,
    /// One word: `LoadFailedVerifier`, `Stall`, `Timeout`, …; absent when the kernel was never
    /// asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) last_lines: Vec<String>,
    /// How things are now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) now: Vec<String>,
}

/// What to tell about an error, and what it means for a script.
pub(crate) fn tell(error: &anyhow::Error) -> (Told, Exit) {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return (Told::of(failure), exit(&failure.cause));
    }
    let exit = if error.is::<Distrust>() {
        Exit::Refused
    } else {
        match error.downcast_ref::<Refusal>() {
            None | Some(Refusal::Blind(_)) => Exit::Trouble,
            Some(_) => Exit::Busy,
        }
    };
    let mut told = Told::plain(sentence(error.as_ref()), exit);
    let driver = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<DriverError>());
    told.remedy = driver.and_then(DriverError::remedy);
    (told, exit)
}

impl Told {
    /// Just a sentence.
    pub(crate) fn plain(message: String, exit: Exit) -> Self {
        Self {
            message,
            exit_code: exit.code(),
            reason: None,
            remedy: None,
            last_lines: Vec::new(),
            now: Vec::new(),
        }
    }

    fn of(failure: &Failure) -> Self {
        let Failure { cause, aftermath } = failure;
        let mut told = Self::plain(sentence(cause), exit(cause));
        told.now = aftermath.iter().map(Aftermath::to_string).collect();
        match cause {
            Cause::NotAttached(not_attached) => {
                told.reason = Some(not_attached.word());
                told.remedy = not_attached.remedy();
                told.last_lines = not_attached.lines.clone();
            }
            Cause::Driver(error) => told.remedy = error.remedy(),
            Cause::NotReleased
            | Cause::Guard(_)
            | Cause::State(_)
            | Cause::Interrupted
            | Cause::NothingStarted => {}
        }
        told
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut text = self.message.clone();
        if !self.last_lines.is_empty() {
            text += "\n  It said last:";
            for line in &self.last_lines {
                text += &format!("\n    {line}");
            }
        }
        if let Some(remedy) = &self.remedy {
            text += &format!("\n  What to do: {remedy}");
        }
        for now in &self.now {
            text += &format!("\n  Now: {now}");
        }
        text
    }
}

/// What a failure means for a script.
pub(crate) fn exit(cause: &Cause) -> Exit {
    match cause {
        Cause::NotAttached(_) => Exit::NotAttached,
        Cause::Driver(_)
        | Cause::NotReleased
        | Cause::Guard(_)
        | Cause::State(_)
        | Cause::Interrupted
        | Cause::NothingStarted => Exit::Trouble,
    }
}
