//! From each kernel's word that it let go of a scheduler to whoever heard of it.

use std::time::{Duration, Instant};

use crate::figures::{say, within};
use crate::machine::Machine;
use crate::witness::{Said, Witness, Word};

/// A sample counts while other virtual machines have no more than this share of the processors.
const DISTURBED: f64 = 0.15;

/// How long whoever listens may take in a sample that counts, before it is not heard.
const DEAF: f64 = 60.0;
const MOST_UNTIL_SAID: f64 = 1.0;
const MOST_UNTIL_WHY: f64 = 5.0;

/// What each took, in seconds.
#[derive(Debug)]
pub(crate) struct Heard {
    why: String,
    report: f64,
    pod: f64,
    schedext: f64,
    reason: f64,
    /// The share of this machine's processors that others had meanwhile.
    stolen: f64,
}

impl Heard {
    /// Whether it says something about us, and not about who else uses the machine.
    pub(crate) fn counts(&self) -> bool {
        self.stolen <= DISTURBED
    }
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

/// What became of one time that a kernel let go, as far as everybody has heard of it by now.
pub(crate) fn heard(witness: &Witness, machine: &Machine, said: &Said) -> Option<Heard> {
    let took = |is: &dyn Fn(&Word) -> bool| {
        let heard = witness.first(&said.node, said.at, is)?;
        Some((heard - said.at).as_secs_f64())
    };
    let told = |word: &Word| matches!(word, Word::Problem(Some(reason)) if reason != "Detached" && reason != "NotAttached");
    let reason = took(&told)?;
    let heard = Heard {
        why: format!("{:?}", said.word),
        report: took(&|word| matches!(word, Word::Report(state) if state != "enabled"))?,
        pod: took(&|word| *word == Word::Pod(false))?,
        schedext: took(&|word| matches!(word, Word::Problem(Some(_))))?,
        stolen: machine.stolen(said.at, said.at + Duration::from_secs_f64(reason)),
        reason,
    };
    assert!(
        !heard.counts() || reason < DEAF,
        "heard too late: {heard:?}"
    );
    Some(heard)
}

/// Says a sample as it comes.
pub(crate) fn say_one(one: &Heard) -> anyhow::Result<()> {
    let Heard {
        why,
        report,
        pod,
        schedext,
        reason,
        stolen,
    } = one;
    let word = if one.counts() { "" } else { " (not counted)" };
    say(&format!(
        "{why:44} report {report:6.3}  pod unready {pod:6.3}  SchedExt {schedext:6.3}  why {reason:6.3}  others had {:3.0} %{word}",
        stolen * 100.0
    ))
}

/// Of each column the median, the 95th of a hundred and the worst. Whether what is promised was
/// kept.
pub(crate) fn judged(heard: &[Heard]) -> anyhow::Result<bool> {
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
