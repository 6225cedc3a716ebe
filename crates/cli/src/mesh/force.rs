//! `meshlock mesh voters --force`: other voters although a majority of the present ones is lost for good.

use std::io::{self, BufRead, IsTerminal, Write};
use std::thread::sleep;
use std::time::Instant;

use anyhow::{anyhow, bail};
use meshlock_core::recovery::voters::List;
use meshlock_node::mesh::voters::{self, Known};
use meshlock_node::mesh::{Authority, Departure, Identity, Member, state};
use serde_json::json;

use super::voters::{CHANGED_WITHIN, LOOK_EVERY};
use super::{Place, Voters};
use crate::output::{self, labelled};
use crate::style::{GOOD, PARTIAL, styled};

/// Names the lost, lets others vote, and removes the lost. What was begun goes on when the command is repeated.
pub(super) fn force(at: &Place, args: &Voters, identity: &Identity, known: Known) -> anyhow::Result<()> {
    let authority = Authority::load(&at.dir)?;
    let name = |member: Member| authority.name_of(member).unwrap_or_else(|| format!("member {}", member.0));
    let lost = lost(args, &authority, identity)?;
    let is_done = match known.list.force() {
        Some(force) => lost.iter().all(|(member, _)| !force.members.contains(&member.0)),
        None => !lost.is_empty() && lost.iter().all(|(member, _)| !authority.is_member(*member)),
    };
    let known = if is_done && known.pending(&at.dir)?.is_none() {
        known
    } else {
        let members: Vec<Member> = lost.iter().map(|(member, _)| *member).collect();
        let list = signed(at, args, identity, &authority, &known, &members)?;
        if state::check_stopped(&at.dir).is_ok() {
            bail!("start the node of this directory, which tells the others, and repeat this");
        }
        confirm(args, &lost)?;
        voters::propose(&at.dir, &list)?;
        until_open(at, known, &list, name)?
    };
    let mut removed = Vec::new();
    for (member, called) in lost.iter().filter(|(member, _)| authority.is_member(*member)) {
        Authority::remove_as(&at.dir, Some(identity.member), called, Some(member.0), Departure::Removed)?;
        removed.push(called.clone());
    }
    let voting: Vec<String> = known.list.voters().iter().map(|voter| name(Member(voter.member))).collect();
    if at.json {
        return output::json(&json!({ "voters": voting, "removed": removed, "list": known.list.id().number }));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} {}", styled(GOOD, "vote from now on:"), voting.join(", "))?;
    if !removed.is_empty() {
        labelled(out, "removed", &removed.join(", "))?;
        labelled(out, "next", "what they held is free one standing later; `meshlock mesh invite` admits others")?;
    }
    Ok(out.flush()?)
}

/// Whom the person names, as members or as former ones, if the command is repeated.
fn lost(args: &Voters, authority: &Authority, identity: &Identity) -> anyhow::Result<Vec<(Member, String)>> {
    let mut lost = Vec::new();
    for named in &args.lost {
        let Some(member) = authority.last_named(named, None) else {
            bail!("no member is called {named:?}; `meshlock mesh members` lists all")
        };
        if member == identity.member {
            bail!("{named} is the node of this directory: it is not lost");
        }
        if args.names.contains(named) {
            bail!("{named} is to vote, so it is not lost");
        }
        lost.push((member, named.clone()));
    }
    Ok(lost)
}

/// The list: the one that was signed before, if it says the same.
fn signed(
    at: &Place,
    args: &Voters,
    identity: &Identity,
    authority: &Authority,
    known: &Known,
    lost: &[Member],
) -> anyhow::Result<List> {
    let goes_on = |member: Member| authority.is_member(member) && !lost.contains(&member);
    let mut named = Vec::new();
    for wanted in &args.names {
        let Some(member) = authority.number_of(wanted) else {
            bail!("no member is called {wanted:?}; `meshlock mesh members` lists all")
        };
        named.push((member, wanted.clone()));
    }
    if named.is_empty() {
        let among = known.among(Some(identity.member), goes_on).into_iter();
        named = among.map(|member| (member, authority.name_of(member).unwrap_or_default())).collect();
    }
    if named.is_empty() {
        bail!("no member that goes on could vote: start the node of one with this one, then repeat this");
    }
    let before = known.pending(&at.dir)?.filter(|pending| pending.force().is_some());
    let list = known.forced(authority, &named, lost, before.as_ref())?;
    let says_the_same = |before: &List| (before.voters(), before.force()) == (list.voters(), list.force());
    Ok(before.filter(says_the_same).unwrap_or(list))
}

/// What a person has to vouch for.
fn confirm(args: &Voters, lost: &[(Member, String)]) -> anyhow::Result<()> {
    let names: Vec<&str> = lost.iter().map(|(_, name)| name.as_str()).collect();
    let vouched = if names.is_empty() {
        "All members must be running and hear of this: until then nobody is served. ".to_owned()
    } else {
        format!(
            "You vouch that {} stopped for good and will never run again with these files: they are removed. If one of \
             them still serves clients where this node cannot see it, two clients may hold one lock. All other members \
             must be running and hear of this: until then nobody is served. ",
            names.join(", ")
        )
    };
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!("{vouched}Nothing was done. Repeat this with --yes if that is so");
    }
    anstream::eprintln!("{} {vouched}It cannot be taken back.", styled(PARTIAL, "careful:"));
    anstream::eprint!("  type yes to go on: ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(anyhow!("nothing was done")) }
}

fn until_open(at: &Place, mut known: Known, list: &List, name: impl Fn(Member) -> String) -> anyhow::Result<Known> {
    let until = Instant::now() + CHANGED_WITHIN;
    while known.list.id() < list.id() {
        if Instant::now() > until {
            let missing = known.what_is_missing(list, name);
            let within = CHANGED_WITHIN.as_secs();
            bail!(
                "the forced voters do not vote after {within} s: {missing}. Start these nodes, or name them with --lost \
                 too, and repeat this, which goes on"
            );
        }
        sleep(LOOK_EVERY);
        known = Known::load(&at.dir)?.unwrap_or(known);
    }
    Ok(known)
}
