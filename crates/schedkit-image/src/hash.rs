//! SHA-256, from the crypto provider of the whole program.

use aws_lc_rs::digest::{Context, SHA256};
use schedkit_core::Digest;

/// The digest of content that arrives in chunks.
pub struct Hasher(Context);

impl Hasher {
    #[expect(clippy::new_without_default, reason = "a hasher is started explicitly")]
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn update(&mut self, chunk: &[u8]) {
        self.0.update(chunk);
    }

    pub fn finish(self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        Digest::from_bytes(bytes)
    }
}

/// The digest of content in memory.
pub fn sha256(content: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha256_in_one_chunk_and_in_many() {
        let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc").to_string(), known);
        let mut hasher = Hasher::new();
        b"abc".chunks(1).for_each(|chunk| hasher.update(chunk));
        assert_eq!(hasher.finish().to_string(), known);
    }
}
