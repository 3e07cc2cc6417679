//! From each kernel's word that it let go of a scheduler to whoever heard of it.

use std::time::{Duration, Instant};

use crate::figures::{say, within};
use crate::witness::{Said, Witness, Word};

/// How long whoever listens may take, before it counts as not heard.
const DEAF: Duration = Duration::from_secs(60);

const MOST_UNTIL_SAID: f64 = 1.0;
const MOST_UNTIL_WHY: f64 = 5.0;

/// What each took, in seconds.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) why: String,
    pub(crate) report: f64,
    pub(crate) pod: f64,
    pub(crate) schedext: f64,
    pub(crate) reason: f64,
}

/// Every time since then that a kernel threw a scheduler out for this reason.
pub(crate) fn thrown_out(witness: &Witness, since: Instant, why: &str) -> Vec<Said> {
    let thrown = |said: &Said| {
        said.at >= since && matches!(&said.word, Word::Kernel(word) if word.contains(why))
    };
    witness.all().into_iter().filter(thrown).collect()
}

/// The first time after a moment that a node's kernel let go.
pub(crate) fn let_go(witness: &Witness, node: &str, after: Instant) -> Said {
    let gone =
        |said: &Said| said.node == node && said.at >= after && matches!(said.word, Word::Kernel(_));
    let found = witness.all().into_iter().find(gone);
    found.unwrap_or_else(|| panic!("{node}'s console tells nothing"))
}

/// One line for each time that a kernel let go; every one must have been heard of by everybody.
pub(crate) fn heard(witness: &Witness, gone: &[Said]) -> Vec<Heard> {
    gone.iter().map(|said| one(witness, said)).collect()
}

fn one(witness: &Witness, said: &Said) -> Heard {
    let took = |what: &str, is: &dyn Fn(&Word) -> bool| {
        let at = witness.first(&said.node, said.at, is);
        let at = at.unwrap_or_else(|| panic!("{what} never heard of {said:?}"));
        let took = at - said.at;
        assert!(took < DEAF, "{what} heard of {said:?} after {took:?}");
        took.as_secs_f64()
    };
    let told = |word: &Word| matches!(word, Word::Problem(Some(reason)) if reason != "Detached" && reason != "NotAttached");
    Heard {
        why: format!("{:?}", said.word),
        report: took(
            "the report",
            &|word| matches!(word, Word::Report(state) if state != "enabled"),
        ),
        pod: took("the pod", &|word| *word == Word::Pod(false)),
        schedext: took("the SchedExt", &|word| {
            matches!(word, Word::Problem(Some(_)))
        }),
        reason: took("the SchedExt, with the reason,", &told),
    }
}

/// The samples, and of each column the median, the 95th of a hundred and the worst. Whether what
/// is promised was kept.
pub(crate) fn judged(heard: &[Heard]) -> anyhow::Result<bool> {
    for one in heard {
        let Heard {
            why,
            report,
            pod,
            schedext,
            reason,
        } = one;
        say(&format!(
            "{why:44} report {report:6.3}  pod unready {pod:6.3}  SchedExt {schedext:6.3}  why {reason:6.3}"
        ))?;
    }
    type Column = (&'static str, fn(&Heard) -> f64, Option<f64>);
    let columns: [Column; 4] = [
        ("report", |one| one.report, None),
        ("pod unready", |one| one.pod, None),
        (
            "SchedExt says detached",
            |one| one.schedext,
            Some(MOST_UNTIL_SAID),
        ),
        ("SchedExt says why", |one| one.reason, Some(MOST_UNTIL_WHY)),
    ];
    let mut met = true;
    for (name, column, most) in columns {
        let mut values: Vec<f64> = heard.iter().map(column).collect();
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
        say(&format!(
            "{name:24} {} samples: median {:.3} s, p95 {:.3} s, worst {:.3} s",
            values.len(),
            at(0.5),
            at(0.95),
            at(1.0)
        ))?;
        if let Some(most) = most {
            met &= within(&format!("{name}, p95"), "s", at(0.95), most)?;
        }
    }
    Ok(met)
}
