//! The first frame on a link, in each direction: who is there.

use meshlock_core::NodeId;
use serde::{Deserialize, Serialize};

use crate::mesh::Member;
use crate::wire::{self, WireError};

/// The version of what links themselves say. Nodes of different versions do not link.
pub const HELLO_VERSION: u8 = 1;

/// Who is there. The name is in the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// See [`HELLO_VERSION`].
    pub version: u8,
    /// The sender's number in the protocols.
    pub node: NodeId,
    /// Drawn anew whenever the sender's links start: tells a second link from a new life.
    pub run: u64,
}

/// Reads a hello of the member that the certificate names. The error says why it is none.
pub(super) fn read(frame: &[u8], member: Member) -> Result<Hello, String> {
    let hello: Hello = wire::decode(frame).map_err(|error| match error {
        WireError::Version(_) => error.to_string(),
        WireError::Empty | WireError::Damaged(_) | WireError::Trailing(_) => format!("no hello, but {error}"),
    })?;
    if hello.version != HELLO_VERSION {
        return Err(format!(
            "links of version {}, but this node makes version {HELLO_VERSION}; run the same meshlock everywhere",
            hello.version
        ));
    }
    if Member::of(hello.node) != member {
        return Err(format!("a hello of member {} under the certificate of {}", Member::of(hello.node).0, member.0));
    }
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello { version: HELLO_VERSION, node: NodeId(0x0002_0007), run: 9 }
    }

    #[test]
    fn a_hello_is_that_of_its_certificate() {
        assert_eq!(read(&wire::encode(&hello()), Member(7)), Ok(hello()));
        let stolen = read(&wire::encode(&hello()), Member(8)).unwrap_err();
        assert_eq!(stolen, "a hello of member 7 under the certificate of 8");
    }

    #[test]
    fn other_versions_are_named_beside_ours() {
        let newer = read(&wire::encode(&Hello { version: 44, ..hello() }), Member(7)).unwrap_err();
        assert!(newer.contains("44") && newer.contains("version 1;"), "{newer}");
        let wire = read(&[33, 0], Member(7)).unwrap_err();
        assert!(wire.contains("33") && wire.contains("version 1;"), "{wire}");
        assert!(read(&[], Member(7)).is_err());
    }
}
