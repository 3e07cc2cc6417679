//! How many signers of a rule have signed: each signature counts for one signer, and each signer
//! once, however many of their descriptions fit.

use std::collections::BTreeSet;

/// The largest number of signers that can be assigned to different signatures. `signatures` has, for
/// each of them, the signers that it may count for; all are below `signers`.
pub(crate) fn distinct_signers(signatures: &[Vec<usize>], signers: usize) -> usize {
    let mut signature_of = vec![None; signers];
    let assigned = (0..signatures.len()).filter(|&signature| {
        assign(
            signature,
            signatures,
            &mut signature_of,
            &mut BTreeSet::new(),
        )
    });
    assigned.count()
}

/// Gives a signature a signer; the signature that had it takes another one.
fn assign(
    signature: usize,
    signatures: &[Vec<usize>],
    signature_of: &mut [Option<usize>],
    tried: &mut BTreeSet<usize>,
) -> bool {
    let fitting = signatures.get(signature).into_iter().flatten();
    for &signer in fitting {
        let Some(&holder) = signature_of.get(signer) else {
            continue;
        };
        if !tried.insert(signer) {
            continue;
        }
        let is_free = holder.is_none_or(|other| assign(other, signatures, signature_of, tried));
        if is_free && let Some(place) = signature_of.get_mut(signer) {
            *place = Some(signature);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_signature_counts_for_one_signer() {
        assert_eq!(distinct_signers(&[], 2), 0);
        assert_eq!(distinct_signers(&[vec![0, 1]], 2), 1);
        assert_eq!(distinct_signers(&[vec![0], vec![0]], 2), 1);
        assert_eq!(distinct_signers(&[vec![0, 1], vec![0]], 2), 2);
        assert_eq!(distinct_signers(&[vec![0], vec![0, 1], vec![1, 2]], 3), 3);
    }

    /// The best of all assignments, one by one.
    fn exhaustive(signatures: &[Vec<usize>], taken: &BTreeSet<usize>) -> usize {
        let Some((first, rest)) = signatures.split_first() else {
            return 0;
        };
        let with = first.iter().filter(|signer| !taken.contains(signer));
        let with = with.map(|signer| {
            let mut taken = taken.clone();
            taken.insert(*signer);
            1 + exhaustive(rest, &taken)
        });
        with.chain([exhaustive(rest, taken)]).max().unwrap()
    }

    proptest! {
        #[test]
        fn it_finds_the_largest_number(
            signatures in prop::collection::vec(prop::collection::vec(0_usize..4, 0..4), 0..6),
        ) {
            let best = exhaustive(&signatures, &BTreeSet::new());
            prop_assert_eq!(distinct_signers(&signatures, 4), best);
        }
    }
}
