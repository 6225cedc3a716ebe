//! `meshlock mesh voters`: who votes on who is gone.

use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use meshlock_core::recovery::voters::List;
use meshlock_node::mesh::voters::{self, Known};
use meshlock_node::mesh::{Authority, Identity, Member, state};
use serde_json::json;

use super::{Place, Voters};
use crate::output::{self, labelled};
use crate::style::{GOOD, STRONG, styled};

pub(super) fn voters(at: &Place, args: &Voters) -> anyhow::Result<()> {
    let identity = Identity::load(&at.dir)?;
    let known = Known::load(&at.dir)?.ok_or_else(|| {
        anyhow!("the node of this directory has not heard of voters: start it with `meshlock node`, and see `meshlock mesh recovery`")
    })?;
    // Only the founder knows names.
    let authority = Authority::load(&at.dir);
    let name = |member: u16| match &authority {
        Ok(authority) => authority.name_of(Member(member)).unwrap_or_else(|| format!("member {member}")),
        Err(_) if member == identity.member.0 => identity.name.clone(),
        Err(_) => format!("member {member}"),
    };
    if args.force {
        return super::force::force(at, args, &identity, known);
    }
    if args.names.is_empty() {
        return show(at, &identity, &known, name);
    }
    let signing = Authority::load(&at.dir)?;
    let mut members = Vec::new();
    for wanted in &args.names {
        let Some(member) = signing.number_of(wanted) else {
            bail!("no member is called {wanted:?}; `meshlock mesh members` lists all")
        };
        members.push((member, wanted.clone()));
    }
    let list = known.successor(&signing, &members)?;
    if let Some(pending) = known.pending(&at.dir)?.filter(|pending| pending.id() != list.id()) {
        let missing = known.what_is_missing(&pending, |member| name(member.0));
        bail!(
            "{} were proposed before, and must vote first, because voters may have agreed to them: {missing}",
            names_of(&pending, name)
        );
    }
    voters::propose(&at.dir, &list)?;
    if at.json {
        return output::json(&json!({ "proposed": args.names, "list": list.id().number }));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} {}", styled(GOOD, "proposed"), args.names.join(", "))?;
    labelled(
        out,
        "next",
        "the node of this directory tells the voters; `meshlock mesh voters` shows when they have changed",
    )?;
    Ok(out.flush()?)
}

fn names_of(list: &List, name: impl Fn(u16) -> String) -> String {
    list.voters().iter().map(|voter| name(voter.member)).collect::<Vec<_>>().join(", ")
}

fn show(at: &Place, identity: &Identity, known: &Known, name: impl Fn(u16) -> String) -> anyhow::Result<()> {
    let voting: Vec<String> = known.list.voters().iter().map(|voter| name(voter.member)).collect();
    let others = known.ready.iter().filter(|voter| !known.list.voters().contains(voter));
    let ready: Vec<String> = others.map(|voter| name(voter.member)).collect();
    let proposed = known.pending(&at.dir)?.map(|list| {
        let missing = known.what_is_missing(&list, |member| name(member.0));
        (list.voters().iter().map(|voter| name(voter.member)).collect::<Vec<_>>(), missing)
    });
    if at.json {
        let (proposed, missing) = proposed.unzip();
        return output::json(&json!({
            "voters": voting, "ready": ready, "list": known.list.id().number, "proposed": proposed, "missing": missing,
        }));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{}, this node is {}", styled(STRONG, &identity.mesh), identity.name)?;
    labelled(out, "voters", &voting.join(", "))?;
    if !ready.is_empty() {
        labelled(out, "could", &ready.join(", "))?;
    }
    if let Some((proposed, missing)) = proposed {
        labelled(out, "proposed", &format!("{}: {missing}", proposed.join(", ")))?;
    }
    Ok(out.flush()?)
}

/// How long voters may take to change. They need a second or two; a machine may be busy.
pub(super) const CHANGED_WITHIN: Duration = Duration::from_secs(30);
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Lets others vote instead of a member that is to be removed, and waits until they do. Who votes then, by name; nothing
/// if the member does not vote. An error names what to do, and the member stays.
///
/// A voter that is removed would stay on the list without ever answering: of three voters a second loss would stop the
/// whole mesh.
pub(super) fn vote_without(at: &Place, own: Option<Member>, member: Member) -> anyhow::Result<Option<Vec<String>>> {
    let Some(mut known) = Known::load(&at.dir)? else { return Ok(None) };
    if !known.votes(member) {
        return Ok(None);
    }
    let authority = Authority::load(&at.dir)?;
    let name = |member: Member| authority.name_of(member).unwrap_or_else(|| format!("member {}", member.0));
    let is_stopped = || state::check_stopped(&at.dir).is_ok();
    let until = Instant::now() + CHANGED_WITHIN;
    while known.votes(member) {
        let others = known.without(member, own, |other| authority.is_member(other));
        if others.is_empty() {
            bail!(
                "{} is the only voter, and no other member could vote: start the node of another member first, then \
                 repeat this",
                name(member)
            );
        }
        let named: Vec<(Member, String)> = others.into_iter().map(|other| (other, name(other))).collect();
        // What was proposed before goes on, also if this member votes in it: then another list follows.
        let list = match known.pending(&at.dir)? {
            Some(pending) => pending,
            None => known.successor(&authority, &named)?,
        };
        let names: Vec<String> = list.voters().iter().map(|voter| name(Member(voter.member))).collect();
        let refuse = |why: &str| {
            anyhow!(
                "{} votes on who is gone, and is not removed: {why}. Then repeat this, which goes on with {}. It lets \
                 others vote first, as would: meshlock mesh voters {}",
                name(member),
                names.join(", "),
                names.join(" ")
            )
        };
        if is_stopped() {
            return Err(refuse("start the node of this directory, which tells the voters"));
        }
        voters::propose(&at.dir, &list)?;
        let before = known.list.id();
        while known.list.id() == before {
            if is_stopped() || Instant::now() > until {
                let missing = known.what_is_missing(&list, name);
                let within = CHANGED_WITHIN.as_secs();
                return Err(refuse(&format!(
                    "the voters did not change within {within} s: {missing}; start a majority of them"
                )));
            }
            sleep(LOOK_EVERY);
            known = Known::load(&at.dir)?.unwrap_or(known);
        }
    }
    Ok(Some(known.list.voters().iter().map(|voter| name(Member(voter.member))).collect()))
}
