//! What is asked next, for how long an answer holds, and what becomes of failures.

use super::*;

const TAG: &str = "r.example/x:1";

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

fn set(references: &[&str]) -> BTreeSet<String> {
    references.iter().map(|one| (*one).to_owned()).collect()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn next(table: &Table, now: Instant) -> Next {
    table.next("p", Lane::Ordinary, "", now)
}

#[test]
fn an_image_is_looked_at_once_and_its_users_are_told() {
    let (mut table, now) = (Table::default(), Instant::now());
    assert!(table.want(&key("a"), set(&[TAG]), None, now));
    assert!(table.want(&key("b"), set(&[TAG]), None, now));
    assert!(!table.want(&key("b"), set(&[TAG]), None, now));
    assert_eq!(next(&table, now), Next::Now(TAG.to_owned()));
    let mut users = table.record(TAG, accepted(), "p", None, now);
    users.sort();
    assert_eq!(users, [key("a"), key("b")]);
    assert_eq!(next(&table, now), Next::OnChange);
    assert_eq!(table.verdicts(&set(&[TAG]), Some("p")).count(), 1);
    // Another policy asks again.
    assert_eq!(table.verdicts(&set(&[TAG]), Some("q")).count(), 0);
    assert_eq!(
        table.next("q", Lane::Ordinary, "", now),
        Next::Now(TAG.to_owned())
    );
}

#[test]
fn trouble_is_retried_later_and_in_a_lane_of_its_own() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG, "away.example/y:1"]), None, now);
    table.record(
        "away.example/y:1",
        Verdict::Trouble("away".to_owned()),
        "p",
        None,
        now,
    );
    assert_eq!(next(&table, now), Next::Now(TAG.to_owned()));
    let failing = |table: &Table, now| table.next("p", Lane::Failing, "", now);
    assert_eq!(failing(&table, now), Next::At(now + seconds(5)));
    let later = now + seconds(6);
    assert_eq!(
        failing(&table, later),
        Next::Now("away.example/y:1".to_owned())
    );
    assert_eq!(
        table.next("p", Lane::Failing, "away.example/y:1", later),
        Next::OnChange
    );
    let told = table.record(
        "away.example/y:1",
        Verdict::Trouble("away".to_owned()),
        "p",
        None,
        later,
    );
    assert_eq!(told, [], "it is no news");
    assert_eq!(failing(&table, later), Next::At(later + seconds(10)));
}

#[test]
fn an_old_verdict_about_a_tag_is_not_taken_for_a_new_spec() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG]), None, now);
    table.record(TAG, accepted(), "p", None, now);
    let soon = now + seconds(60);
    table.want(&key("b"), set(&[TAG]), None, soon);
    assert_eq!(next(&table, soon), Next::OnChange);
    let late = now + seconds(600);
    table.want(&key("c"), set(&[TAG]), None, late);
    assert_eq!(table.verdicts(&set(&[TAG]), Some("p")).count(), 0);
    assert_eq!(next(&table, late), Next::Now(TAG.to_owned()));
    let told = table.record(TAG, accepted(), "p", None, late);
    assert!(told.contains(&key("c")));
    // A digest does not age.
    table.want(&key("d"), set(&[&digest()]), None, late);
    table.record(&digest(), accepted(), "p", None, late);
    table.want(&key("e"), set(&[&digest()]), None, late + seconds(9999));
    assert_eq!(next(&table, late + seconds(9999)), Next::OnChange);
}

#[test]
fn a_request_to_refresh_is_answered_by_a_later_look() {
    let (mut table, now) = (Table::default(), Instant::now());
    let is_refreshed = |table: &Table| table.is_refreshed(&key("a"), [TAG].into_iter());
    table.want(&key("a"), set(&[TAG]), None, now);
    table.record(TAG, accepted(), "p", None, now);
    assert!(!is_refreshed(&table));
    let later = now + seconds(1);
    assert!(table.want(&key("a"), set(&[TAG]), Some("refresh"), later));
    assert!(!is_refreshed(&table));
    assert_eq!(next(&table, later), Next::Now(TAG.to_owned()));
    let told = table.record(TAG, accepted(), "p", None, later + seconds(1));
    assert_eq!(told, [key("a")]);
    assert!(!table.want(&key("a"), set(&[TAG]), Some("refresh"), later + seconds(2)));
    assert!(is_refreshed(&table));
    assert_eq!(next(&table, later + seconds(2)), Next::OnChange);
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
fn an_interval_resolves_tags_and_not_digests() {
    let (mut table, now) = (Table::default(), Instant::now());
    table.want(&key("a"), set(&[TAG, &digest()]), None, now);
    let hour = Some(seconds(3600));
    table.record(TAG, accepted(), "p", hour, now);
    table.record(&digest(), accepted(), "p", hour, now);
    assert_eq!(next(&table, now), Next::At(now + seconds(3600)));
}

#[test]
fn what_nobody_names_is_forgotten_beyond_a_limit() {
    let (mut table, now) = (Table::default(), Instant::now());
    for number in 0..1000 {
        let image = format!("r.example/x:{number}");
        table.want(&key("a"), set(&[&image]), None, now);
        table.record(&image, accepted(), "p", None, now);
    }
    table.retain(|_| true);
    assert_eq!(table.known.len(), MAX_UNWANTED + 1);
    table.retain(|_| false);
    assert_eq!((table.known.len(), table.users().len()), (MAX_UNWANTED, 0));
}
