//! Requests to the manager: the annotation `sked.schedkit.io/request`, and its answer in the status.

use std::time::Duration;

use serde_json::json;
use sked_api::{Request, SchedExt, label};
use sked_plan::ObjectKey;
use sked_plan::rollout::requests::{Answer, answer};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::schedexts::{SchedExts, Stored};
use crate::view::message::Message;
use crate::wait::until;

pub(super) async fn ask(
    cluster: &Cluster,
    name: &str,
    ask: &Request,
    wait: Option<Duration>,
    printer: &Printer,
) -> Result<Exit, Error> {
    let stored = SchedExts::new(cluster).named(name).await?;
    ask_of(cluster, &stored, ask, wait, printer).await
}

pub(super) async fn ask_of(
    cluster: &Cluster,
    stored: &Stored,
    ask: &Request,
    wait: Option<Duration>,
    printer: &Printer,
) -> Result<Exit, Error> {
    let request = unused(&stored.schedext, ask);
    let patch = json!({"metadata": {"annotations": {(label::REQUEST): request}}});
    let schedexts = SchedExts::new(cluster);
    schedexts.patch(&stored.key, &patch).await?;
    let message = match wait {
        None => format!("asked to {request}"),
        Some(timeout) => {
            answered(cluster, &stored.key, &request, timeout).await?;
            format!("{request} was carried out")
        }
    };
    printer.print(&Message {
        schedext: stored.key.to_string(),
        action: request,
        message,
    })?;
    Ok(Exit::Ok)
}

/// Waits until the manager has carried the request out.
async fn answered(
    cluster: &Cluster,
    key: &ObjectKey,
    request: &str,
    timeout: Duration,
) -> Result<(), Error> {
    let schedexts = SchedExts::new(cluster);
    let handled = until(Some(timeout), async || {
        let schedext = schedexts.get(key).await?.schedext;
        let status = schedext.status.as_ref();
        let handled = status.and_then(|status| status.handled_request.as_deref());
        match answer(handled, request) {
            Some(Answer::CarriedOut) => Ok(Some(())),
            Some(Answer::Refused(why)) => Err(Error::Refused {
                request: request.to_owned(),
                why: why.to_owned(),
            }),
            None if annotation(&schedext) != Some(request) => {
                Err(Error::Replaced(request.to_owned()))
            }
            None => Ok(None),
        }
    })
    .await?;
    handled.ok_or_else(|| Error::NoAnswer {
        request: request.to_owned(),
        seconds: timeout.as_secs(),
        namespace: cluster.agent_namespace().to_owned(),
    })
}

fn annotation(schedext: &SchedExt) -> Option<&str> {
    let annotations = schedext.metadata.annotations.as_ref()?;
    annotations.get(label::REQUEST).map(String::as_str)
}

/// The request in a form that was not used last: a request is carried out once, so asking for the
/// same again takes a number.
fn unused(schedext: &SchedExt, ask: &Request) -> String {
    let status = schedext.status.as_ref();
    let handled = status.and_then(|status| status.handled_request.as_deref());
    let last = [annotation(schedext), handled];
    let numbers = last
        .into_iter()
        .flatten()
        .filter_map(|text| number(text, ask));
    match numbers.max() {
        None => ask.to_string(),
        // After the largest number comes another one that was not used last.
        Some(number) => format!("{ask}#{}", number.checked_add(1).unwrap_or(2)),
    }
}

/// Of the same request: its number, 1 without one. After the request `status.handledRequest` may
/// have a reason.
fn number(text: &str, ask: &Request) -> Option<u64> {
    let rest = text.strip_prefix(&ask.to_string())?;
    let digits = match rest.strip_prefix('#') {
        Some(rest) => rest.split(' ').next().unwrap_or_default(),
        None if rest.is_empty() || rest.starts_with(" - ") => return Some(1),
        None => return None,
    };
    Some(digits.parse().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use sked_api::{SchedExtSpec, SchedExtStatus};

    use super::*;

    fn asked(annotation: Option<&str>, handled: Option<&str>) -> String {
        let mut schedext = SchedExt::new("a", SchedExtSpec::default());
        schedext.metadata.annotations =
            annotation.map(|text| [(label::REQUEST.to_owned(), text.to_owned())].into());
        schedext.status = Some(SchedExtStatus {
            handled_request: handled.map(str::to_owned),
            ..SchedExtStatus::default()
        });
        unused(&schedext, &Request::Retry)
    }

    #[test]
    fn a_repeated_request_gets_the_next_number() {
        assert_eq!(asked(None, None), "retry");
        assert_eq!(asked(Some("promote"), Some("promote")), "retry");
        assert_eq!(asked(Some("retry"), None), "retry#2");
        assert_eq!(asked(Some("retry"), Some("retry - refused: no")), "retry#2");
        assert_eq!(
            asked(Some("retry#2"), Some("retry#2 - refused: no")),
            "retry#3"
        );
        assert_eq!(asked(Some("abort"), Some("retry#7")), "retry#8");
        assert_eq!(asked(Some("retry#mine"), None), "retry#2");
        let largest = format!("retry#{}", u64::MAX);
        assert_eq!(asked(Some(&largest), None), "retry#2");
        let release = Request::Release("node1".to_owned());
        assert_eq!(number("release node12", &release), None);
        assert_eq!(number("release node1", &release), Some(1));
    }
}
