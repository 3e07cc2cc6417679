//! The text of an error with all its sources.

use std::error::Error;
use std::fmt::Write;

/// The error and its sources, separated by colons, without repeating a text.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = message(error);
    let mut next = error.source();
    while let Some(source) = next {
        let more = message(source);
        if !text.contains(&more) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {more}");
        }
        next = source.source();
    }
    text
}

/// Of a response of the API server only its message: the client's text shows all fields. A boxed
/// error has another type than the error itself, so both are tried.
fn message(error: &(dyn Error + 'static)) -> String {
    let boxed = error.downcast_ref::<Box<kube::Error>>().map(Box::as_ref);
    match boxed.or_else(|| error.downcast_ref()) {
        Some(kube::Error::Api(status)) => status.message.clone(),
        _ => match error.downcast_ref::<Box<kube::core::Status>>() {
            Some(status) => status.message.clone(),
            None => error.to_string(),
        },
    }
}
