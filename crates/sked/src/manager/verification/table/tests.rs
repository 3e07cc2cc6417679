//! What is asked next, for how long an answer holds, and what becomes of failures.

use std::sync::Arc;

use super::*;
use crate::manager::verification::question::PullSecrets;

const TAG: &str = "r.example/x:1";

/// With the manager's own credentials.
fn question(reference: &str) -> Question {
    Question::new(reference, None)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey {
        namespace: "here".to_owned(),
        name: name.to_owned(),
    }
}

fn accepted() -> Verdict {
    Verdict::Accepted {
        resolved: digest(),
        signer: "somebody".to_owned(),
        policy: "p".to_owned(),
        at: jiff::Timestamp::UNIX_EPOCH,
    }
}

fn digest() -> String {
    format!("r.example/x@sha256:{}", "1".repeat(64))
}

fn set(references: &[&str]) -> BTreeSet<Question> {
    references.iter().map(|one| question(one)).collect()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn next(table: &mut Table, now: Instant) -> Next {
    table.next("p", Lane::Ordinary, None, now)
}

/// A look that took no time.
fn at(now: Instant) -> Look<'static> {
    Look {
        policy: "p",
        began: now,
        ended: now,
    }
}

fn away() -> Verdict {
    Verdict::Trouble("away".to_owned())
}

#[test]
fn an_image_is_looked_at_once_and_its_users_are_told() {
    let (mut table, now) = (Table::default(), Instant::now());
    assert!(table.want(&key("a"), set(&[TAG]), None, now));
    assert!(table.want(&key("b"), set(&[TAG]), None, now));
    assert!(!table.want(&key("b"), set(&[TAG]), None, now));
    assert_eq!(next(&mut table, now), Next::Now(question(TAG)));
    let mut users = table.record(&question(TAG), accepted(), &at(now), None);
    users.sort();
    assert_eq!(users, [key("a"), key("b")]);
    assert_eq!(next(&mut table, now), Next::OnChange);
    assert_eq!(table.verdicts(&set(&[TAG]), Some("p")).count(), 1);
    // Another policy asks again.
    assert_eq!(table.verdicts(&set(&[TAG]), Some("q")).count(), 0);
    assert_eq!(
        table.next("q", Lane::Ordinary, None, now),
        Next::Now(question(TAG))
    );
}

#[test]
fn trouble_is_retried_later_and_in_a_lane_of_its_own() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG, "away.example/y:1"]), None, now);
    table.record(&question("away.example/y:1"), away(), &at(now), None);
    assert_eq!(next(&mut table, now), Next::Now(question(TAG)));
    let failing = |table: &mut Table, now| table.next("p", Lane::Failing, None, now);
    assert_eq!(failing(&mut table, now), Next::At(now + seconds(5)));
    let later = now + seconds(6);
    assert_eq!(
        failing(&mut table, later),
        Next::Now(question("away.example/y:1"))
    );
    assert_eq!(
        table.next(
            "p",
            Lane::Failing,
            Some(&question("away.example/y:1")),
            later
        ),
        Next::OnChange
    );
    let told = table.record(&question("away.example/y:1"), away(), &at(later), None);
    assert_eq!(told, [], "it is no news");
    assert_eq!(failing(&mut table, later), Next::At(later + seconds(10)));
}

#[test]
fn namespaces_take_turns_and_who_waits_for_longest_is_first() {
    let (mut table, now) = (Table::default(), Instant::now());
    let of = |namespace: &str, name: &str| ObjectKey {
        namespace: namespace.to_owned(),
        ..key(name)
    };
    for number in 0..50 {
        let image = format!("r{number}.example/a:1");
        table.want(&of("evil", &image), set(&[&image]), None, now);
    }
    let later = now + seconds(1);
    table.want(&of("good", "b"), set(&["r.example/z:1"]), None, later);
    table.want(
        &of("good", "a"),
        set(&["r.example/y:1"]),
        None,
        later + seconds(1),
    );
    let mut time = later + seconds(2);
    let mut looked = Vec::new();
    for _ in 0..4 {
        let Next::Now(image) = next(&mut table, time) else {
            panic!("{looked:?}");
        };
        time += seconds(1);
        table.record(&image, accepted(), &at(time), None);
        looked.push(image.reference);
    }
    let good: Vec<_> = looked
        .iter()
        .filter(|one| one.starts_with("r.example"))
        .collect();
    assert_eq!(good, ["r.example/z:1", "r.example/y:1"], "{looked:?}");
}

#[test]
fn all_images_of_a_slow_registry_pass_to_the_other_lane() {
    let (mut table, now) = (Table::default(), Instant::now());
    let [one, two, other] = ["slow.example/x:1", "slow.example/x:2", "r.example/x:1"];
    table.want(&key("a"), set(&[one, two]), None, now);
    let ended = now + seconds(20);
    let look = Look { ended, ..at(now) };
    table.record(&question(one), away(), &look, None);
    table.want(&key("b"), set(&[other]), None, ended);
    assert_eq!(next(&mut table, ended), Next::Now(question(other)));
    table.record(&question(other), accepted(), &at(ended), None);
    assert_eq!(next(&mut table, ended), Next::OnChange);
    let failing = |table: &mut Table| table.next("p", Lane::Failing, None, ended);
    assert_eq!(failing(&mut table), Next::Now(question(two)));
    // It answers again. One that has no such image did not take long.
    table.record(&question(two), away(), &at(ended), None);
    table.want(&key("c"), set(&["slow.example/x:3"]), None, ended);
    let third = Next::Now(question("slow.example/x:3"));
    assert_eq!(next(&mut table, ended), third);
    table.retain(|_| false);
    assert!(table.slow.is_empty() && table.turns.is_empty());
}

#[test]
fn an_old_verdict_about_a_tag_is_not_taken_for_a_new_spec() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG]), None, now);
    table.record(&question(TAG), accepted(), &at(now), None);
    let soon = now + seconds(60);
    table.want(&key("b"), set(&[TAG]), None, soon);
    assert_eq!(next(&mut table, soon), Next::OnChange);
    let late = now + seconds(600);
    table.want(&key("c"), set(&[TAG]), None, late);
    assert_eq!(table.verdicts(&set(&[TAG]), Some("p")).count(), 0);
    assert_eq!(next(&mut table, late), Next::Now(question(TAG)));
    let told = table.record(&question(TAG), accepted(), &at(late), None);
    assert!(told.contains(&key("c")));
    // What a digest names does not change.
    table.want(&key("d"), set(&[&digest()]), None, late);
    table.record(&question(&digest()), accepted(), &at(late), None);
    let later = late + seconds(9999);
    table.want(&key("e"), set(&[&digest()]), None, later);
    assert_eq!(
        table.verdicts(&set(&[&digest()]), Some("p")).count(),
        1,
        "it is no new question"
    );
    assert_eq!(next(&mut table, later), Next::At(late + ACCEPTED));
}

#[test]
fn a_digest_is_judged_again_and_trouble_takes_no_verdict_back() {
    let (mut table, now) = (Table::default(), Instant::now());
    let digest = digest();
    table.want(&key("a"), set(&[&digest]), None, now);
    table.record(&question(&digest), accepted(), &at(now), None);
    assert!(table.accepted(&question(&digest), "p", now).is_some());
    assert_eq!(next(&mut table, now), Next::At(now + ACCEPTED));
    let mut time = now + ACCEPTED;
    assert_eq!(next(&mut table, time), Next::Now(question(&digest)));
    assert_eq!(table.accepted(&question(&digest), "p", time), None);
    for wait in [5, 10, 20] {
        let told = table.record(&question(&digest), away(), &at(time), None);
        assert_eq!(told, [], "it is no news");
        let verdicts: Vec<_> = table.verdicts(&set(&[&digest]), Some("p")).collect();
        assert_eq!(verdicts, [(digest.clone(), accepted())]);
        assert_eq!(next(&mut table, time), Next::At(time + seconds(wait)));
        time += seconds(wait);
    }
    let refused = Verdict::Refused("its key has expired".to_owned());
    let told = table.record(&question(&digest), refused.clone(), &at(time), None);
    assert_eq!(told, [key("a")]);
    // Of another policy it says nothing.
    table.record(&question(&digest), accepted(), &at(time), None);
    let look = Look {
        policy: "q",
        ..at(time)
    };
    table.record(&question(&digest), away(), &look, None);
    let verdicts: Vec<_> = table.verdicts(&set(&[&digest]), Some("q")).collect();
    assert_eq!(verdicts, [(digest.clone(), away())]);
}

#[test]
fn a_request_to_refresh_is_answered_by_a_later_look() {
    let (mut table, now) = (Table::default(), Instant::now());
    let is_refreshed = |table: &Table| table.is_refreshed(&key("a"), [question(TAG)].into_iter());
    table.want(&key("a"), set(&[TAG]), None, now);
    table.record(&question(TAG), accepted(), &at(now), None);
    assert!(!is_refreshed(&table));
    let later = now + seconds(1);
    assert!(table.want(&key("a"), set(&[TAG]), Some("refresh"), later));
    assert!(!is_refreshed(&table));
    assert_eq!(next(&mut table, later), Next::Now(question(TAG)));
    let told = table.record(&question(TAG), accepted(), &at(later + seconds(1)), None);
    assert_eq!(told, [key("a")]);
    assert!(!table.want(&key("a"), set(&[TAG]), Some("refresh"), later + seconds(2)));
    assert!(is_refreshed(&table));
    assert_eq!(next(&mut table, later + seconds(2)), Next::OnChange);
    // The next one starts anew.
    assert!(table.want(
        &key("a"),
        set(&[TAG]),
        Some("refresh#2"),
        later + seconds(3)
    ));
    assert!(!is_refreshed(&table));
}

#[test]
fn a_look_that_began_before_the_request_does_not_answer_it() {
    let (mut table, began) = (Table::default(), Instant::now());
    let is_refreshed = |table: &Table| table.is_refreshed(&key("a"), [question(TAG)].into_iter());
    table.want(&key("a"), set(&[TAG]), None, began);
    let asked = began + seconds(1);
    table.want(&key("a"), set(&[TAG]), Some("refresh"), asked);
    let ended = asked + seconds(1);
    let look = Look { ended, ..at(began) };
    assert_eq!(
        table.record(&question(TAG), accepted(), &look, None),
        [key("a")]
    );
    assert!(!is_refreshed(&table));
    assert!(table.want(&key("a"), set(&[TAG]), Some("refresh"), ended));
    assert_eq!(next(&mut table, ended), Next::Now(question(TAG)));
    table.record(&question(TAG), accepted(), &at(ended), None);
    assert!(is_refreshed(&table));
}

#[test]
fn an_interval_resolves_tags_and_not_digests() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG, &digest()]), None, now);
    let hour = Some(seconds(3600));
    table.record(&question(TAG), accepted(), &at(now), hour);
    table.record(&question(&digest()), accepted(), &at(now), hour);
    assert_eq!(next(&mut table, now), Next::At(now + seconds(3600)));
}

#[test]
fn what_nobody_names_is_forgotten_beyond_a_limit() {
    let (mut table, now) = (Table::default(), Instant::now());
    for number in 0..1000 {
        let image = format!("r.example/x:{number}");
        table.want(&key("a"), set(&[&image]), None, now);
        table.record(&question(&image), accepted(), &at(now), None);
    }
    table.retain(|_| true);
    assert_eq!(table.known.len(), MAX_UNWANTED + 1);
    table.retain(|_| false);
    assert_eq!((table.known.len(), table.users().len()), (MAX_UNWANTED, 0));
}

#[test]
fn an_answer_serves_only_those_who_ask_with_the_same_secrets() {
    let (mut table, now) = (Table::default(), Instant::now());
    let with = |namespace: &str, name: &str| {
        let secrets = PullSecrets {
            namespace: namespace.to_owned(),
            names: vec![name.to_owned()],
        };
        Question::new(TAG, Some(Arc::new(secrets)))
    };
    let mine = with("here", "pull");
    let others = [with("there", "pull"), with("here", "other"), question(TAG)];
    let one = |question: &Question| BTreeSet::from([question.clone()]);
    table.want(&key("a"), one(&mine), None, now);
    for (number, other) in others.iter().enumerate() {
        table.want(&key(&number.to_string()), one(other), None, now);
    }
    let told = table.record(&mine, accepted(), &at(now), None);
    assert_eq!(told, [key("a")]);
    table.record(&mine.about(&digest()), accepted(), &at(now), None);
    let verdicts = |question: &Question| table.verdicts(&one(question), Some("p")).count();
    assert_eq!(verdicts(&mine), 1);
    assert!(table.accepted(&mine.about(&digest()), "p", now).is_some());
    for other in &others {
        assert_eq!(verdicts(other), 0, "{other:?}");
        assert_eq!(table.accepted(&other.about(&digest()), "p", now), None);
    }
    // A digest that this list of secrets has not read is asked about, too.
    assert!(matches!(next(&mut table, now), Next::Now(next) if others.contains(&next)));
}

#[test]
fn what_an_image_says_is_kept_as_long_as_its_verdict() {
    let (mut table, now) = (Table::default(), Instant::now());
    let image = |at: usize| format!("r.example/x@sha256:{at:064x}");
    table.want(&key("a"), set(&[&image(0)]), None, now);
    for at in 0..=MAX_UNWANTED + 1 {
        let users = table.learn(&image(at), Arc::default());
        assert_eq!(users, Vec::from_iter((at == 0).then(|| key("a"))));
        table.record(&question(&image(at)), accepted(), &self::at(now), None);
    }
    table.retain(|_| true);
    assert_eq!(table.facts.len(), 1 + MAX_UNWANTED);
    assert!(table.facts(&image(0)).is_some(), "somebody asks about it");
}
