//! The first frame on a link, in each direction: who is there, and which versions it speaks.
//!
//! ```text
//!   byte 0   the layout of this frame, HELLO_VERSION
//!   byte 1   the oldest version of the wire that the sender speaks
//!   byte 2   the newest
//!   then     node, run and installation, by postcard; a newer layout may add to the end
//! ```
//!
//! The first three bytes stay what they are, whatever changes, so that nodes of different versions can tell each other.

use meshlock_core::NodeId;
use serde::{Deserialize, Serialize};

use super::transport::Failure;
use crate::mesh::Member;
use crate::wire;

/// The layout of the hello.
pub const HELLO_VERSION: u8 = 2;

/// Who is there. The name is in the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The sender's number in the protocols.
    pub node: NodeId,
    /// Drawn anew whenever the sender's links start: no two processes have the same.
    pub run: u64,
    /// Drawn once, when the sender's directory took up its invitation: no two machines that did have the same.
    pub installation: u64,
}

/// Why there is no link after a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoHello {
    /// The other end speaks versions that this one does not.
    OtherVersion(String),
    /// It makes no sense.
    Senseless(String),
}

impl From<NoHello> for Failure {
    /// Another version stays until it is updated, so there is no hurry to try again.
    fn from(none: NoHello) -> Self {
        match none {
            NoHello::OtherVersion(reason) => Self::lasting(reason),
            NoHello::Senseless(reason) => Self::suspicious(reason),
        }
    }
}

impl Hello {
    /// As the first frame of a link.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_for(wire::VERSION, wire::VERSION)
    }

    /// The same, of a node that speaks these versions of the wire.
    pub fn encode_for(&self, oldest: u8, newest: u8) -> Vec<u8> {
        let head = vec![HELLO_VERSION, oldest, newest];
        // Three integers into a vector: it cannot fail.
        postcard::to_extend(self, head).unwrap_or_default()
    }
}

/// Reads a hello of the member that the certificate names. The error says why it is none.
pub(super) fn read(frame: &[u8], member: Member) -> Result<Hello, NoHello> {
    let senseless = |why: &str| NoHello::Senseless(format!("no hello, but {why}"));
    let [layout, rest @ ..] = frame else { return Err(senseless("an empty frame")) };
    let other = |theirs: String| {
        let ours = wire::VERSION;
        NoHello::OtherVersion(format!(
            "it speaks version {theirs}, but this node speaks version {ours}; run the same meshlock everywhere"
        ))
    };
    // Before there was a range: one byte of version, and another of the hello.
    if *layout < HELLO_VERSION {
        return Err(other(layout.to_string()));
    }
    let [oldest, newest, rest @ ..] = rest else { return Err(senseless("a damaged frame")) };
    if !(*oldest..=*newest).contains(&wire::VERSION) {
        return Err(other(if oldest == newest { oldest.to_string() } else { format!("{oldest} to {newest}") }));
    }
    let hello = match postcard::take_from_bytes::<Hello>(rest) {
        Ok((hello, [])) => hello,
        Ok((hello, _)) if *layout > HELLO_VERSION => hello,
        Ok(_) | Err(_) => return Err(senseless("a damaged frame")),
    };
    if Member::of(hello.node) != member {
        let says = Member::of(hello.node).0;
        return Err(NoHello::Senseless(format!("a hello of member {says} under the certificate of {}", member.0)));
    }
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello { node: NodeId(0x0002_0007), run: 9, installation: 5 }
    }

    fn words(result: Result<Hello, NoHello>) -> String {
        match result {
            Err(NoHello::OtherVersion(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hello_is_that_of_its_certificate() {
        assert_eq!(read(&hello().encode(), Member(7)), Ok(hello()));
        let stolen = read(&hello().encode(), Member(8));
        assert_eq!(stolen, Err(NoHello::Senseless("a hello of member 7 under the certificate of 8".into())));
    }

    #[test]
    fn its_bytes_are_what_they_were() {
        let bytes = hello().encode_for(3, 4);
        assert_eq!(bytes, [2, 3, 4, 0x87, 0x80, 0x08, 9, 5]);
    }

    #[test]
    fn other_versions_are_named_beside_ours() {
        let ours = wire::VERSION;
        let newer = words(read(&hello().encode_for(ours + 1, ours + 3), Member(7)));
        let both = [format!("version {} to {}", ours + 1, ours + 3), format!("version {ours};")];
        assert!(both.iter().all(|part| newer.contains(part)), "{newer}");
        let first = words(read(&[1, 1, 7, 9], Member(7)));
        assert!(first.contains("version 1,"), "{first}");
        assert!(matches!(read(&[], Member(7)), Err(NoHello::Senseless(_))));
    }

    #[test]
    fn a_newer_hello_that_speaks_our_version_too_is_understood() {
        let ours = wire::VERSION;
        let mut newer = hello().encode_for(ours, ours + 1);
        newer[0] = HELLO_VERSION + 1;
        newer.extend([1, 2, 3]);
        assert_eq!(read(&newer, Member(7)), Ok(hello()));
        newer[0] = HELLO_VERSION;
        assert!(matches!(read(&newer, Member(7)), Err(NoHello::Senseless(_))));
    }
}
