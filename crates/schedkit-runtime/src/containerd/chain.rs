//! Chain ids, the names of layer snapshots: a hash of a layer and all layers below it. Pure.

use schedkit_core::Digest;
use schedkit_image::hash::sha256;

/// The chain ids of layers, from the digests of their uncompressed content, the lowest first: `c(0) = d(0)`, `c(n) = sha256("c(n-1) d(n)")`.
pub(super) fn chain_ids(diff_ids: &[Digest]) -> Vec<Digest> {
    let mut chain: Vec<Digest> = Vec::with_capacity(diff_ids.len());
    for diff_id in diff_ids {
        let next = match chain.last() {
            Some(below) => sha256(format!("{below} {diff_id}").as_bytes()),
            None => diff_id.clone(),
        };
        chain.push(next);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `printf '%s %s' … | sha256sum`.
    #[test]
    fn chains_are_those_of_the_image_specification() {
        let diff_ids = ["1", "2", "3"].map(|byte| {
            let text = format!("sha256:{}", byte.repeat(64));
            text.parse().unwrap()
        });
        let chain = chain_ids(&diff_ids);
        let chain: Vec<_> = chain.iter().map(Digest::hex).collect();
        assert_eq!(
            chain,
            [
                "1111111111111111111111111111111111111111111111111111111111111111",
                "9932074217c35353d2e03a3f5a86549f7c67bfeb0ba53e23d69f4d4c8f7958f5",
                "50127c0d6b338be78246434b4bce23ecf75e505158ea0bbd15effeb162fbf3ec",
            ]
        );
        assert!(chain_ids(&[]).is_empty());
    }
}
