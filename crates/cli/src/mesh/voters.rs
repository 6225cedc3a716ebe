//! `meshlock mesh voters`: who votes on who is gone.

use std::io::Write;

use anyhow::{anyhow, bail};
use meshlock_node::mesh::voters::{self, Known};
use meshlock_node::mesh::{Authority, Identity, Member};
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
    if args.names.is_empty() {
        let voting: Vec<String> = known.list.voters().iter().map(|voter| name(voter.member)).collect();
        let others = known.ready.iter().filter(|voter| !known.list.voters().contains(voter));
        let ready: Vec<String> = others.map(|voter| name(voter.member)).collect();
        if at.json {
            return output::json(&json!({ "voters": voting, "ready": ready, "list": known.list.id().number }));
        }
        let out = &mut anstream::stdout().lock();
        writeln!(out, "{}, this node is {}", styled(STRONG, &identity.mesh), identity.name)?;
        labelled(out, "voters", &voting.join(", "))?;
        if !ready.is_empty() {
            labelled(out, "could", &ready.join(", "))?;
        }
        return Ok(out.flush()?);
    }
    let authority = authority?;
    let mut members = Vec::new();
    for wanted in &args.names {
        let Some(member) = authority.number_of(wanted) else {
            bail!("no member is called {wanted:?}; `meshlock mesh members` lists all")
        };
        members.push((member, wanted.clone()));
    }
    let list = known.successor(&authority, &members)?;
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
