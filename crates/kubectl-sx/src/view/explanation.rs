//! Why a node has this scheduler, or none: every rule that was applied, in order.

use serde::Serialize;
use sked::snapshot::Snapshot;
use sked_api::{QuarantinedNode, SchedExt};
use sked_plan::OwnerId;
use sked_plan::claim::{
    CandidateRule, ClaimRule, DecidedBy, Explanation, LabelRule, Presence, Why,
};
use sked_plan::eligibility::Eligibility;
use sked_plan::kernel_state::KernelState;
use sked_plan::live_pod::{LivePod, PodState};
use sked_plan::part::{key, uid};

use super::scheduler;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ExplanationView {
    pub(crate) node: String,
    /// The SchedExt that owns it.
    pub(crate) owner: Option<String>,
    /// What the kernel runs, by its own name.
    pub(crate) scheduler: Option<String>,
    pub(crate) result: String,
    pub(crate) rules: Vec<RuleView>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RuleView {
    pub(crate) rule: &'static str,
    /// The SchedExt and part, or the pod, that it is about.
    pub(crate) subject: Option<String>,
    /// Whether it speaks for a scheduler on the node; missing if it only informs.
    pub(crate) holds: Option<bool>,
    pub(crate) text: String,
}

/// What is known of one node.
pub(crate) struct Subject<'a> {
    pub(crate) explanation: &'a Explanation,
    pub(crate) kernel: KernelState,
    pub(crate) eligibility: Option<&'a Eligibility>,
    pub(crate) schedexts: &'a [std::sync::Arc<SchedExt>],
    pub(crate) pods: &'a [std::sync::Arc<LivePod>],
}

pub(crate) fn of(
    snapshot: &Snapshot,
    explanation: &Explanation,
    notes: Vec<String>,
) -> ExplanationView {
    let subject = Subject {
        explanation,
        kernel: snapshot.kernel(&explanation.node),
        eligibility: snapshot.fleet().eligibility.get(&explanation.node),
        schedexts: &snapshot.schedexts(),
        pods: &snapshot.pods_on(&explanation.node),
    };
    ExplanationView {
        notes,
        ..view(&subject)
    }
}

pub(crate) fn view(subject: &Subject<'_>) -> ExplanationView {
    let explanation = subject.explanation;
    let mut rules = vec![
        inform("kernel", scheduler::kernel(&subject.kernel)),
        eligibility(subject),
        inform("label", current_label(subject)),
    ];
    rules.extend(candidates(subject));
    rules.extend(contest(explanation));
    rules.push(inform("label rule", label_rule(subject)));
    rules.extend(subject.pods.iter().map(|pod| pod_rule(pod)));
    ExplanationView {
        node: explanation.node.to_string(),
        owner: explanation.owner().map(|owner| owner.schedext.to_string()),
        scheduler: match &subject.kernel {
            KernelState::Enabled { ops, .. } => Some(ops.to_string()),
            _ => None,
        },
        result: result(subject),
        rules,
        notes: Vec::new(),
    }
}

fn inform(rule: &'static str, text: String) -> RuleView {
    RuleView {
        rule,
        subject: None,
        holds: None,
        text,
    }
}

fn eligibility(subject: &Subject<'_>) -> RuleView {
    let exclusion = subject.explanation.exclusion.as_ref();
    let (holds, text) = match (exclusion, subject.eligibility) {
        (Some(reason), _) => (Some(false), format!("no SchedExt may use it: {reason}")),
        (None, Some(Eligibility::Eligible)) => (Some(true), "SchedExts may use it".to_owned()),
        (None, _) => (
            None,
            "not known while the kernel is not; it counts as what it was before".to_owned(),
        ),
    };
    RuleView {
        holds,
        ..inform("eligibility", text)
    }
}

fn current_label(subject: &Subject<'_>) -> String {
    match &subject.explanation.label {
        None => "it has no owner label".to_owned(),
        Some(label) => format!(
            "its label {} is {label}{}",
            sked_api::label::OWNER,
            meaning(subject, label)
        ),
    }
}

/// Whose label it is.
fn meaning(subject: &Subject<'_>, label: &str) -> String {
    match label.parse::<OwnerId>() {
        Ok(owner) => match named(subject, owner) {
            Some(name) => format!(": {name}"),
            None => ": of a SchedExt that does not exist any more".to_owned(),
        },
        Err(_) if sked_api::label::RESERVED.contains(&label) => {
            ": no SchedExt may use it".to_owned()
        }
        Err(_) => ": sked never writes such a value".to_owned(),
    }
}

fn named(subject: &Subject<'_>, owner: OwnerId) -> Option<String> {
    let mut candidates = subject.explanation.candidates.iter();
    if let Some(rule) = candidates.find(|rule| rule.owner == Some(owner)) {
        return Some(candidate_name(rule));
    }
    let mut schedexts = subject.schedexts.iter();
    let quarantine = schedexts.find(|one| OwnerId::quarantine(&uid(one)) == owner)?;
    Some(format!("the quarantine of {}", key(quarantine)))
}

fn candidate_name(rule: &CandidateRule) -> String {
    match (&rule.schedext, &rule.part) {
        (Some(schedext), Some(part)) => format!("{schedext}, {}", scheduler::part(part)),
        _ => format!("DaemonSet {}", rule.daemonset),
    }
}

fn candidates(subject: &Subject<'_>) -> Vec<RuleView> {
    let claims = &subject.explanation.claims;
    let candidates = subject.explanation.candidates.iter();
    let rules = candidates.map(|rule| {
        let (holds, text) = candidate(subject, rule, claims);
        RuleView {
            rule: "selection",
            subject: Some(candidate_name(rule)),
            holds: Some(holds),
            text,
        }
    });
    rules.collect()
}

fn candidate(subject: &Subject<'_>, rule: &CandidateRule, claims: &[ClaimRule]) -> (bool, String) {
    let Some(why) = &rule.refusal else {
        let claim = claims
            .iter()
            .find(|one| Some(&one.schedext) == rule.schedext.as_ref());
        return match claim {
            Some(claim) if claim.daemonset != rule.daemonset => (
                false,
                format!(
                    "selects it, but the {} comes first",
                    scheduler::part(&claim.part)
                ),
            ),
            _ => match &rule.obstacle_now {
                Some(obstacle) => (
                    true,
                    format!("selects it, but gets no pod there now: {obstacle}"),
                ),
                None => (true, "selects it".to_owned()),
            },
        };
    };
    let live = match rule.is_live {
        true => "; its DaemonSet would still run there",
        false => "",
    };
    let text = match why {
        Why::NotDesired => "no SchedExt asks for it any more".to_owned(),
        Why::NotChosen => "the node is none of the canary's".to_owned(),
        Why::DoesNotFit(obstacle) => obstacle.clone(),
        Why::Quarantined => match quarantined(subject, rule) {
            Some(one) => format!(
                "it is in quarantine there since {:.0}: revision {} failed ({}): {}",
                one.since.0, one.revision, one.reason, one.message
            ),
            None => "it is in quarantine there".to_owned(),
        },
        Why::KeepsOnlyItsOwn => {
            "its spec cannot be read, so it keeps only the nodes that it has".to_owned()
        }
    };
    (false, text + live)
}

fn quarantined<'a>(subject: &Subject<'a>, rule: &CandidateRule) -> Option<&'a QuarantinedNode> {
    let mut schedexts = subject.schedexts.iter();
    let of = schedexts.find(|one| Some(&key(one)) == rule.schedext.as_ref())?;
    let mut quarantined = of.status.as_ref()?.quarantined.iter();
    quarantined.find(|one| one.node == *subject.explanation.node.0)
}

/// Who gets the node, and why.
fn contest(explanation: &Explanation) -> Vec<RuleView> {
    let rank = |claim: &ClaimRule| {
        let has = match claim.presence {
            Presence::Label => "has the label",
            Presence::Pod => "its pod has it",
            Presence::Nothing => "has nothing there",
        };
        let priority = match claim.is_unreadable {
            true => "its spec cannot be read".to_owned(),
            false => format!("priority {}", claim.priority),
        };
        format!("{priority}, {has}, created {:.0}", claim.created)
    };
    let claims = explanation.claims.iter().enumerate();
    let is_contested = explanation.claims.len() > 1;
    let rules = claims.map(|(at, claim)| RuleView {
        rule: "claim",
        subject: Some(claim.schedext.to_string()),
        holds: Some(at == 0 && explanation.exclusion.is_none()),
        text: match at {
            _ if !is_contested => "no other SchedExt claims it".to_owned(),
            0 => format!("first: {}{}", rank(claim), decided(explanation.decided_by)),
            _ => format!("after it: {}", rank(claim)),
        },
    });
    rules.collect()
}

fn decided(by: Option<DecidedBy>) -> &'static str {
    match by {
        None => "",
        Some(DecidedBy::Unreadable) => "; what cannot be read keeps its nodes",
        Some(DecidedBy::Priority) => "; the higher priority decides",
        Some(DecidedBy::Incumbency) => "; the priorities are equal, and who has the node keeps it",
        Some(DecidedBy::Age) => "; nobody has the node, and the older one gets it",
        Some(DecidedBy::Name) => "; both are equally old, and the first by name gets it",
    }
}

fn label_rule(subject: &Subject<'_>) -> String {
    let explanation = subject.explanation;
    let must = match explanation.label_rule {
        LabelRule::Contested(owner) => {
            format!("the label is {owner}, because another DaemonSet would run there as well")
        }
        LabelRule::Canary(owner) => {
            format!("the label is {owner}, because a canary runs only where it is labelled")
        }
        LabelRule::Quarantine(owner) => {
            format!("the label is {owner}, which no DaemonSet asks for, because of the quarantine")
        }
        LabelRule::Excluded(value) => {
            format!("the label is {value}, so that no DaemonSet runs there")
        }
        LabelRule::Keep => {
            "the label stays as it is, because a DaemonSet that is left would run there".to_owned()
        }
        LabelRule::Uncontested => {
            "no label is needed: only the owner's DaemonSet would run there".to_owned()
        }
        LabelRule::Unclaimed => "no label is needed: no DaemonSet would run there".to_owned(),
    };
    match &explanation.write {
        None => must,
        Some(_) => format!("{must}; sked has yet to write it"),
    }
}

fn pod_rule(pod: &LivePod) -> RuleView {
    let state = match &pod.state {
        PodState::Unscheduled(None) => "is not scheduled yet".to_owned(),
        PodState::Unscheduled(Some(why)) => format!("is not scheduled: {why}"),
        PodState::Starting => "is starting".to_owned(),
        PodState::Waiting { reason, message } => format!("cannot start ({reason}): {message}"),
        PodState::Running => "runs".to_owned(),
        PodState::Ended => "has ended".to_owned(),
        PodState::Failed { reason, message } => format!("failed ({reason}): {message}"),
    };
    let deleting = if pod.deleting {
        ", is being deleted"
    } else {
        ""
    };
    let gate = match &pod.gate {
        None => "; its readiness gate is not set".to_owned(),
        Some(gate) => format!(
            "; its readiness gate is {} ({}) since {:.0}",
            if gate.attached { "True" } else { "False" },
            gate.reason,
            gate.since
        ),
    };
    RuleView {
        rule: "pod",
        subject: Some(pod.key.to_string()),
        holds: pod.gate.as_ref().map(|gate| gate.attached),
        text: format!("{state}{deleting}{gate}"),
    }
}

fn result(subject: &Subject<'_>) -> String {
    let explanation = subject.explanation;
    let kernel = match &subject.kernel {
        KernelState::Enabled { ops, .. } => format!("its kernel runs {ops}"),
        KernelState::Unknown(_) => "what its kernel runs is unknown".to_owned(),
        KernelState::Enabling => "its kernel is attaching a scheduler".to_owned(),
        KernelState::Disabled | KernelState::Unsupported(_) => {
            "its kernel runs its own scheduler".to_owned()
        }
    };
    let owner = match (explanation.owner(), &explanation.exclusion) {
        (Some(owner), _) => {
            let part = scheduler::part(&owner.part);
            match owner.runs {
                true => format!("{} owns it ({part})", owner.schedext),
                false => format!(
                    "{} owns it ({part}), and no pod runs there now",
                    owner.schedext
                ),
            }
        }
        (None, Some(reason)) => format!("no SchedExt may use it ({reason})"),
        (None, None) => {
            let quarantined = explanation.candidates.iter();
            let mut quarantined = quarantined.filter(|rule| rule.refusal == Some(Why::Quarantined));
            match quarantined.next().and_then(|rule| rule.schedext.as_ref()) {
                Some(schedext) => format!("it is in the quarantine of {schedext}"),
                None => "no SchedExt selects it".to_owned(),
            }
        }
    };
    format!("{owner}; {kernel}")
}
