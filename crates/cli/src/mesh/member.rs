//! `meshlock mesh init`, `invite`, `join` and `remove`: they change who takes part.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use meshlock_node::config::{NodeConfig, Settings};
use meshlock_node::mesh::{
    Authority, Charter, Departure, Existing, Founded, Founding, Identity, Invitation, MeshError, found_with,
    invite as admit, is_member,
};
use meshlock_node::mesh::{join as take_up, name};
use serde_json::json;

use super::{Init, Invite, Join, Place, Remove, recover};
use crate::output::{self, labelled};
use crate::style::{GOOD, PARTIAL, STRONG, styled};

pub(super) fn init(at: &Place, args: &Init) -> anyhow::Result<()> {
    let node = args.node.clone().unwrap_or_else(name::of_this_host);
    let founding = founding(at, args)?;
    let founded = found_with(&at.dir, &args.name, &node, existing(args.force), &founding).map_err(with_flags)?;
    let charter = Charter::load(&at.dir, &founded.identity)?;
    if at.json {
        return output::json(&document(&at.dir, &founded, charter.as_ref()));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} the mesh {}", styled(GOOD, "founded"), styled(STRONG, &founded.identity.mesh))?;
    tell_membership(out, at, &founded)?;
    recover::tell(out, charter.as_ref())?;
    labelled(out, "next", "`meshlock node` runs this node, `meshlock mesh invite NAME` admits another")?;
    labelled(out, "keep", "a copy of authority.toml in a safe place: only it can admit and remove members")?;
    Ok(out.flush()?)
}

/// What is wished for a new mesh: by flags, and below them by the file that is there already.
fn founding(at: &Place, args: &Init) -> anyhow::Result<Founding> {
    let mut flags = Settings::default();
    flags.node.dir = Some(at.dir.clone());
    let recovery = args.recovery.map(super::Mode::recovery);
    flags.mesh.set_founding(Founding { recovery, standing: args.standing, voters: args.voters.clone() });
    let config = if is_member(&at.dir) {
        // The file of the old mesh is moved aside with it.
        NodeConfig::resolve(flags, &at.dir)
    } else {
        NodeConfig::load(flags, None)
    };
    let config = config.map_err(|problems| anyhow!("{problems}"))?;
    Ok(config.founding.for_links(config.loss_after))
}

pub(super) fn invite(at: &Place, args: &Invite) -> anyhow::Result<()> {
    if let Some(file) = &args.output {
        // Before somebody is admitted whose invitation cannot be kept.
        output::refuse_existing(file, false).with_context(|| "an invitation replaces no file")?;
    }
    let invitation = admit(&at.dir, &args.name, args.peer.clone())?;
    let identity = &invitation.identity;
    if let Some(file) = &args.output {
        let written = write_secret(file, &format!("{invitation}\n"));
        written.with_context(|| {
            let (name, file) = (&identity.name, file.display());
            format!(
                "{name} was invited, but {file} cannot be written: `meshlock mesh remove {name}`, then invite again"
            )
        })?;
    }
    if at.json {
        return output::json(&json!({
            "mesh": identity.mesh,
            "number": identity.member.0,
            "name": identity.name,
            "peers": invitation.peers,
            "invitation": args.output.is_none().then(|| invitation.to_string()),
            "file": args.output,
        }));
    }
    if let Some(file) = &args.output {
        let (name, file) = (&identity.name, file.display());
        anstream::eprintln!(
            "{} {file}: carry it to {name}, `meshlock mesh join FILE` there, and remove it",
            styled(GOOD, "written:")
        );
        return Ok(());
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
        "-" => read_invitation(&mut std::io::stdin().lock(), "standard input")?,
        text if is_file(text) => {
            let mut file = File::open(text).with_context(|| {
                format!("{text} is neither an invitation, as `meshlock mesh invite NAME` makes it, nor a file")
            })?;
            read_invitation(&mut file, text)?
        }
        text => text.to_owned(),
    };
    let invitation = Invitation::parse(&text)?;
    let founded = take_up(&at.dir, &invitation, existing(args.force)).map_err(with_flags)?;
    let charter = invitation.charter.as_ref();
    if at.json {
        return output::json(&document(&at.dir, &founded, charter));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} the mesh {}", styled(GOOD, "joined"), styled(STRONG, &founded.identity.mesh))?;
    tell_membership(out, at, &founded)?;
    recover::tell(out, charter)?;
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
    let departure = if args.gone { Departure::Gone } else { Departure::Removed };
    let removal = Authority::remove_as(&at.dir, own, &args.name, args.number, departure)?;
    let number = removal.member().0;
    let file = removal.path(&at.dir);
    if at.json {
        let gone = removal.is_gone();
        return output::json(
            &json!({ "name": args.name, "number": number, "removed": true, "gone": gone, "file": file }),
        );
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} {} (number {number})", styled(GOOD, "removed"), styled(STRONG, &args.name))?;
    labelled(
        out,
        "spreads",
        "the node of this directory takes it up, if it runs or when it is started, and tells its \
        neighbours; they tell theirs, and everybody closes links to the removed node",
    )?;
    if removal.is_gone() {
        labelled(out, "gone", "what it held is made anew; it must never run again with its old files")?;
    }
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

fn document(dir: &Path, founded: &Founded, charter: Option<&Charter>) -> serde_json::Value {
    let Identity { mesh, member, name, .. } = &founded.identity;
    json!({
        "mesh": mesh,
        "number": member.0,
        "name": name,
        "dir": dir,
        "moved_to": founded.moved_to,
        "recovery": recover::document(charter),
    })
}

fn tell_membership(out: &mut impl Write, at: &Place, founded: &Founded) -> std::io::Result<()> {
    labelled(out, "node", &format!("{} (number {})", founded.identity.name, founded.identity.member.0))?;
    labelled(out, "files", &at.dir.display().to_string())?;
    if let Some(moved_to) = &founded.moved_to {
        labelled(out, "before", &format!("the old mesh is in {}", moved_to.display()))?;
    }
    Ok(())
}

/// An invitation begins with a word of its own and a colon; anything else names a file.
fn is_file(text: &str) -> bool {
    !text.trim_start().starts_with("meshlock-invite")
}

fn read_invitation(from: &mut impl Read, place: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    from.take(LONGEST).read_to_string(&mut text).with_context(|| format!("cannot read the invitation from {place}"))?;
    if text.trim().is_empty() {
        bail!("there is no invitation in {place}; make one with `meshlock mesh invite NAME` at the founder");
    }
    Ok(text)
}

/// A new file that only its owner can read.
fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// More than any invitation has.
const LONGEST: u64 = 1 << 20;
