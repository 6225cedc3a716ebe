//! `meshlock mesh members` and `resources`: they only look.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anyhow::anyhow;
use meshlock_api::{Definition, Order, duration};
use meshlock_node::config::{NodeConfig, Settings};
use meshlock_node::mesh::{Authority, Identity, Issued, Kept, Member, MeshError};
use meshlock_report::table::Cell;
use serde::Serialize;

use super::Place;
use crate::output::{self, labelled, table_width, word};
use crate::style::{PARTIAL, STRONG, styled};

#[derive(Serialize)]
struct Members {
    mesh: String,
    /// The name of this node, where it is a member.
    node: Option<String>,
    /// All that were ever admitted are listed; only the founder knows them.
    complete: bool,
    members: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    number: u16,
    name: Option<String>,
    removed: bool,
    /// A person vouched that it has stopped for good.
    gone: bool,
    this_node: bool,
}

pub(super) fn members(at: &Place) -> anyhow::Result<()> {
    let known = known(at)?;
    if at.json {
        return output::json(&known);
    }
    let out = &mut anstream::stdout().lock();
    let node = known.node.as_ref().map(|node| format!(", this node is {node}")).unwrap_or_default();
    writeln!(out, "{}{node}", styled(STRONG, &known.mesh))?;
    let cells = |row: &Row| {
        let state = match (row.this_node, row.removed, row.gone) {
            (true, true, _) => "this node, removed",
            (true, false, _) => "this node",
            (false, true, true) => "removed, gone",
            (false, true, false) => "removed",
            (false, false, _) => "member",
        };
        let name = row.name.clone().unwrap_or_else(|| "?".to_owned());
        vec![Cell::Number(row.number.into()), Cell::Text(name), Cell::Text(state.to_owned())]
    };
    table(out, "number# | name | state", known.members.iter().map(cells).collect())?;
    if !known.complete {
        labelled(out, "note", "only the founder's directory has the whole list")?;
    }
    Ok(out.flush()?)
}

/// What the files of this directory say.
fn known(at: &Place) -> anyhow::Result<Members> {
    let own = match Identity::load(&at.dir) {
        Ok(identity) => Some(identity),
        Err(MeshError::NoMember { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let kept = match &own {
        Some(identity) => kept(at, identity)?,
        None => Kept::default(),
    };
    let (removed, facts) = (kept.members(), kept.facts());
    let is_own = |member: Member| own.as_ref().is_some_and(|own| own.member == member);
    let node = own.as_ref().map(|own| own.name.clone());
    match (Authority::load(&at.dir), &own) {
        (Ok(authority), _) => {
            let row = |issued: &Issued| Row {
                number: issued.member.0,
                name: Some(issued.name.clone()),
                removed: issued.removed || removed.contains(&issued.member),
                gone: issued.gone.is_some() || facts.is_removed(issued.member.0),
                this_node: is_own(issued.member),
            };
            let members = authority.issued.iter().map(row).collect();
            Ok(Members { mesh: authority.mesh, node, complete: true, members })
        }
        (Err(MeshError::NoAuthority { .. }), Some(identity)) => {
            let all: BTreeSet<Member> = removed.iter().copied().chain([identity.member]).collect();
            let row = |member: &Member| Row {
                number: member.0,
                name: is_own(*member).then(|| identity.name.clone()),
                removed: removed.contains(member),
                gone: facts.is_removed(member.0),
                this_node: is_own(*member),
            };
            let members = all.iter().map(row).collect();
            Ok(Members { mesh: identity.mesh.clone(), node, complete: false, members })
        }
        (Err(error), _) => Err(error.into()),
    }
}

fn kept(at: &Place, identity: &Identity) -> anyhow::Result<Kept> {
    let kept = Kept::load(&at.dir, identity)?;
    for refused in &kept.refused {
        anstream::eprintln!("{} {refused}; it is ignored", styled(PARTIAL, "warning:"));
    }
    Ok(kept)
}

#[derive(Serialize)]
struct Resource<'a> {
    name: &'a str,
    #[serde(flatten)]
    definition: Definition,
}

pub(super) fn resources(at: &Place) -> anyhow::Result<()> {
    let mut flags = Settings::default();
    flags.node.dir = Some(at.dir.clone());
    let config = NodeConfig::load(flags, None).map_err(|problems| anyhow!("{problems}"))?;
    if at.json {
        let all: Vec<Resource<'_>> = config
            .resources
            .iter()
            .map(|(name, definition)| Resource { name, definition: definition.clone() })
            .collect();
        return output::json(&all);
    }
    let out = &mut anstream::stdout().lock();
    if config.resources.is_empty() {
        let file = at.dir.join("meshlock.toml");
        writeln!(out, "{} declares no resources; add [resources.NAME] to it", file.display())?;
        return Ok(out.flush()?);
    }
    let cells = |(name, definition): (&String, &Definition)| {
        let order = match definition.order {
            Order::Priority { aging } => format!("priority, aging {aging}"),
            Order::Deadline => "deadline".to_owned(),
        };
        let lease = duration::display(std::time::Duration::from_millis(definition.lease_ms));
        vec![
            Cell::Text(name.clone()),
            Cell::Text(word(&definition.kind)),
            Cell::Number(definition.capacity.into()),
            Cell::Text(word(&definition.protocol)),
            Cell::Text(order),
            Cell::Text(lease),
        ]
    };
    let columns = "name | kind | capacity# | protocol | order | lease";
    table(out, columns, config.resources.iter().map(cells).collect())?;
    Ok(out.flush()?)
}

fn table(out: &mut impl Write, columns: &str, rows: Vec<Vec<Cell>>) -> io::Result<()> {
    output::table(columns, rows, table_width()).lines().try_for_each(|line| writeln!(out, "  {line}"))
}
