//! What makes a node a member: its number, its name, its key and certificate, and the mesh's secret.

use meshlock_core::NodeId;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The number of a member in its mesh. The founder is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(pub u16);

/// How often a member was started without having been stopped cleanly before. To the protocols each is another node,
/// because it has forgotten what it promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u16);

impl Member {
    /// The node that the protocols see.
    pub fn node(self, incarnation: Incarnation) -> NodeId {
        NodeId(u32::from(incarnation.0) << 16 | u32::from(self.0))
    }

    /// The member behind a node of the protocols.
    pub fn of(node: NodeId) -> Self {
        Self((node.0 & 0xffff) as u16)
    }
}

/// What makes a node a member. Secret: whoever has it is this member.
#[derive(Debug)]
pub struct Identity {
    /// The name of the mesh.
    pub mesh: String,
    /// Who this is.
    pub member: Member,
    /// Its name, unique in the mesh.
    pub name: String,
    /// The certificate that the mesh's authority gave it. It says number and name.
    pub certificate: CertificateDer<'static>,
    /// The key of the certificate.
    pub key: PrivateKeyDer<'static>,
    /// The certificate of the authority: whoever has one of its certificates is a member, unless it was removed.
    pub authority: CertificateDer<'static>,
    /// Known to all members and to nobody else. Beacons are signed with it.
    pub secret: [u8; 32],
}
