//! How a run is recognised: by what it runs, with which seed, on which code.
//!
//! Equal names mean equal results, so a finished run never has to be repeated, and results of several machines are
//! merged by copying files. The names are the first 128 bits of SHA-256, which no two runs will ever share by chance
//! and which `sha256sum` computes too.

use ring::digest::{SHA256, digest};

pub fn scenario_hash(canonical: &str) -> String {
    hash(canonical)
}

/// The name of a run: the hash of the code version, the seed and the canonical text, a line each for the first two.
pub fn run_hash(code_version: &str, seed: u64, canonical: &str) -> String {
    hash(&format!("{code_version}\n{seed}\n{canonical}"))
}

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 2 * BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

const BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_sha256sum_says() {
        // printf 'nodes = 3\n' | sha256sum | cut -c1-32
        assert_eq!(scenario_hash("nodes = 3\n"), "10d47ccf5611e9abf32d43d6bb89392a");
        // printf '0.1.0+x\n7\nnodes = 3\n' | sha256sum | cut -c1-32
        assert_eq!(run_hash("0.1.0+x", 7, "nodes = 3\n"), "2107b365cf82023b7591d5a791aced29");
        assert!(is_hash(&scenario_hash("")) && !is_hash("runs") && !is_hash(&"G".repeat(32)));
    }

    #[test]
    fn code_seed_and_scenario_each_make_another_run() {
        let names = [run_hash("a", 1, "x"), run_hash("b", 1, "x"), run_hash("a", 2, "x"), run_hash("a", 1, "y")];
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), 4);
    }
}
