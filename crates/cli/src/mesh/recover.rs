//! `meshlock mesh recovery`: how the mesh recovers after a crash.

use std::io::{self, Write};

use meshlock_api::duration;
use meshlock_node::mesh::{self, Authority, Charter, Identity};
use serde_json::json;

use super::{Mode, Place, Recovery};
use crate::output::{self, labelled};
use crate::style::{GOOD, STRONG, styled};

impl Mode {
    pub(crate) fn recovery(self) -> mesh::Recovery {
        match self {
            Self::Voters => mesh::Recovery::Voters,
            Self::Restart => mesh::Recovery::Restart,
            Self::None => mesh::Recovery::None,
        }
    }
}

pub(super) fn recovery(at: &Place, args: &Recovery) -> anyhow::Result<()> {
    let Some(mode) = args.mode else { return show(at) };
    let charter = Authority::decide_recovery(&at.dir, mode.recovery(), args.standing)?;
    if at.json {
        return output::json(&document(Some(&charter)));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{} how the mesh recovers", styled(GOOD, "decided"))?;
    tell(out, Some(&charter))?;
    labelled(
        out,
        "spreads",
        "the node of this directory takes it up, if it runs or when it is started, and tells its neighbours; they tell \
         theirs",
    )?;
    Ok(out.flush()?)
}

fn show(at: &Place) -> anyhow::Result<()> {
    let identity = Identity::load(&at.dir)?;
    let charter = Charter::load(&at.dir, &identity)?;
    if at.json {
        return output::json(&document(charter.as_ref()));
    }
    let out = &mut anstream::stdout().lock();
    writeln!(out, "{}, this node is {}", styled(STRONG, &identity.mesh), identity.name)?;
    tell(out, charter.as_ref())?;
    Ok(out.flush()?)
}

/// For scripts.
pub(super) fn document(charter: Option<&Charter>) -> serde_json::Value {
    match charter {
        None => json!({ "mode": mesh::Recovery::None.word(), "charter": null }),
        Some(charter) => json!({
            "mode": charter.recovery().word(),
            "charter": charter.number(),
            "standing_ms": u64::try_from(charter.standing().as_millis()).unwrap_or(u64::MAX),
            "voters": charter.voters(),
        }),
    }
}

/// For people.
pub(super) fn tell(out: &mut impl Write, charter: Option<&Charter>) -> io::Result<()> {
    let Some(charter) = charter else {
        let words = "none: this mesh was founded by an older version; `meshlock mesh recovery restart` (or voters) \
                     changes that, at the founder";
        return labelled(out, "recovery", words);
    };
    match charter.recovery() {
        mesh::Recovery::None => labelled(out, "recovery", "none: what is in a node that crashes is lost"),
        mesh::Recovery::Restart => labelled(
            out,
            "recovery",
            "restart: what was in a node that crashed is made anew when it is started again, or removed with --gone",
        ),
        mesh::Recovery::Voters => {
            let voters = match charter.voters() {
                [] => "the founder, and with it the first two that join".to_owned(),
                named => named.join(", "),
            };
            let standing = duration::display(charter.standing());
            labelled(out, "recovery", &format!("voters: {voters}; a node may act for {standing} after it asked them"))
        }
    }
}
