//! `meshlock mesh init`, `invite`, `join` and `remove`: they change who takes part.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use meshlock_node::mesh::{
    Authority, Existing, Founded, Identity, Invitation, MeshError, Removal, found, invite as admit,
};
use meshlock_node::mesh::{join as take_up, name};
use serde_json::json;

use super::{Init, Invite, Join, Place, Remove};
use crate::output::{self, labelled};
use crate::style::{GOOD, PARTIAL, STRONG, styled};

pub(super) fn init(at: &Place, args: &Init) -> anyhow::Result<()> {
    let node = args.node.clone().unwrap_or_else(name::of_this_host);
    let founded = found(&at.dir, &args.name, &node, existing(args.force)).map_err(with_flags)?;
    if at.json {
        return output::json(&document(&at.dir, &founded));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} the mesh {}", styled(GOOD, "founded"), styled(STRONG, &founded.identity.mesh))?;
    tell_membership(out, at, &founded)?;
    labelled(out, "next", "`meshlock node` runs this node, `meshlock mesh invite NAME` admits another")?;
    labelled(out, "keep", "a copy of authority.toml in a safe place: only it can admit and remove members")?;
    Ok(out.flush()?)
}

pub(super) fn invite(at: &Place, args: &Invite) -> anyhow::Result<()> {
    let invitation = admit(&at.dir, &args.name, args.peer.clone())?;
    let identity = &invitation.identity;
    if at.json {
        return output::json(&json!({
            "mesh": identity.mesh,
            "number": identity.member.0,
            "name": identity.name,
            "peers": invitation.peers,
            "invitation": invitation.to_string(),
        }));
    }
    // The line alone on standard output, so that it can be sent on by a pipe.
    let mut out = std::io::stdout().lock();
    writeln!(out, "{invitation}")?;
    out.flush()?;
    let Identity { name, member, .. } = identity;
    let words = format!("whoever has this line is {name} (number {}) of the mesh {}", member.0, identity.mesh);
    anstream::eprintln!("{} {words}", styled(PARTIAL, "secret:"));
    anstream::eprintln!("  on {name}, once: meshlock mesh join -        and paste it, or send it there by a pipe");
    anstream::eprintln!("  if others may have seen it: meshlock mesh remove {name}");
    Ok(())
}

pub(super) fn join(at: &Place, args: &Join) -> anyhow::Result<()> {
    let text = match args.invitation.as_str() {
        "-" => from_standard_input()?,
        text => text.to_owned(),
    };
    let invitation = Invitation::parse(&text)?;
    let founded = take_up(&at.dir, &invitation, existing(args.force)).map_err(with_flags)?;
    if at.json {
        return output::json(&document(&at.dir, &founded));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} the mesh {}", styled(GOOD, "joined"), styled(STRONG, &founded.identity.mesh))?;
    tell_membership(out, at, &founded)?;
    if !invitation.peers.is_empty() {
        labelled(out, "peers", &invitation.peers.join(", "))?;
    }
    labelled(out, "next", "`meshlock node` runs this node; the invitation can be thrown away")?;
    Ok(out.flush()?)
}

pub(super) fn remove(at: &Place, args: &Remove) -> anyhow::Result<()> {
    // The authority may be kept apart from the node; then no member here is this one.
    let own = match Identity::load(&at.dir) {
        Ok(identity) => Some(identity.member),
        Err(MeshError::NoMember { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let removal = Authority::remove(&at.dir, own, &args.name)?;
    let number = removal.member().0;
    let file = Removal::path(&at.dir, removal.member());
    if at.json {
        return output::json(&json!({ "name": args.name, "number": number, "removed": true, "file": file }));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} {} (number {number})", styled(GOOD, "removed"), styled(STRONG, &args.name))?;
    labelled(
        out,
        "spreads",
        "the node of this directory takes it up, if it runs or when it is started, and tells its \
        neighbours; they tell theirs, and everybody closes links to the removed node",
    )?;
    labelled(out, "until", "a member that is out of reach has heard of it, that one still accepts the removed node")?;
    labelled(out, "file", &file.display().to_string())?;
    Ok(out.flush()?)
}

/// The flags that help, for what the library says.
fn with_flags(error: MeshError) -> anyhow::Error {
    let error_with_flags = matches!(error, MeshError::AlreadyMember { .. });
    if error_with_flags {
        anyhow!("{error}: --dir names a directory, --force moves the old mesh aside")
    } else {
        error.into()
    }
}

fn existing(force: bool) -> Existing {
    if force { Existing::MoveAside } else { Existing::Keep }
}

fn document(dir: &Path, founded: &Founded) -> serde_json::Value {
    let Identity { mesh, member, name, .. } = &founded.identity;
    json!({ "mesh": mesh, "number": member.0, "name": name, "dir": dir, "moved_to": founded.moved_to })
}

fn tell_membership(out: &mut impl Write, at: &Place, founded: &Founded) -> std::io::Result<()> {
    labelled(out, "node", &format!("{} (number {})", founded.identity.name, founded.identity.member.0))?;
    labelled(out, "files", &at.dir.display().to_string())?;
    if let Some(moved_to) = &founded.moved_to {
        labelled(out, "before", &format!("the old mesh is in {}", moved_to.display()))?;
    }
    Ok(())
}

fn from_standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_string(&mut text);
    read.context("cannot read the invitation from standard input")?;
    if text.trim().is_empty() {
        bail!("there is no invitation on standard input; make one with `meshlock mesh invite NAME` at the founder");
    }
    Ok(text)
}

/// More than any invitation has.
const LONGEST: u64 = 1 << 20;
