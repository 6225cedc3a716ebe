//! Which claims are meant by ids and by how ids begin.

use anyhow::bail;
use meshlock_reproduce::Claim;

/// The claims that are meant, in their usual order; all if nothing is said.
///
/// An id means that claim alone, so `J-1` is not `J-10`. Anything else means all ids that begin like it.
pub(super) fn choose(all: &[Claim], ids: &[String]) -> anyhow::Result<Vec<Claim>> {
    if let Some(unknown) = ids.iter().find(|id| !all.iter().any(|claim| means(id, claim, all))) {
        let known: Vec<&str> = all.iter().map(|claim| claim.id).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        bail!("there is no claim {unknown}, and none whose id begins like it\nclaims: {known}");
    }
    let is_meant = |claim: &&Claim| ids.is_empty() || ids.iter().any(|id| means(id, claim, all));
    Ok(all.iter().filter(is_meant).copied().collect())
}

fn means(id: &str, claim: &Claim, all: &[Claim]) -> bool {
    let is_id = |claim: &Claim| claim.id.eq_ignore_ascii_case(id);
    if all.iter().any(is_id) {
        return is_id(claim);
    }
    let begin = claim.id.get(..id.len());
    !id.is_empty() && begin.is_some_and(|begin| begin.eq_ignore_ascii_case(id))
}
