//! One line of text that makes a node a member: everything it needs, and a checksum that tells a damaged paste.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde::{Deserialize, Serialize};

use super::{Charter, Identity, Member, MeshError};

/// What a new member gets. Secret: anyone who has it can act as that member.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Who it will be.
    pub identity: Identity,
    /// Where to find others, as `HOST:PORT`. Not needed where they find each other by themselves.
    pub peers: Vec<String>,
    /// The parts of the founder's configuration that all members share, as TOML.
    pub shared: String,
    /// What the authority decided for the whole mesh. A mesh of an older version has none.
    pub charter: Option<Charter>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    mesh: String,
    member: Member,
    name: String,
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
    secret: [u8; 32],
    peers: Vec<String>,
    shared: String,
}

/// The second version, with a charter.
#[derive(Serialize, Deserialize)]
struct WithCharter {
    content: Content,
    charter: Vec<u8>,
}

impl Invitation {
    /// Reads an invitation. Spaces and line ends that a mail or a terminal put into it do not matter.
    pub fn parse(text: &str) -> Result<Self, MeshError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let first = text.strip_prefix(PREFIX).map(|body| (body, false));
        let second = || text.strip_prefix(WITH_CHARTER).map(|body| (body, true));
        let Some((body, has_charter)) = first.or_else(second) else {
            return Err(wrong(match text.strip_prefix(ANY_VERSION) {
                Some(_) => "this invitation is from another version of meshlock; run the same version everywhere",
                None => {
                    "this is no invitation: it begins with meshlock-invite- and is made by `meshlock mesh invite NAME`"
                }
            }));
        };
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| wrong(DAMAGED))?;
        let length = bytes.len().checked_sub(CHECKSUM).ok_or_else(|| wrong(DAMAGED))?;
        let (content, sum) = bytes.split_at_checked(length).ok_or_else(|| wrong(DAMAGED))?;
        if checksum(content) != sum {
            return Err(wrong(DAMAGED));
        }
        let (content, charter) = if has_charter {
            let WithCharter { content, charter } = read(content)?;
            (content, Some(charter))
        } else {
            (read::<Content>(content)?, None)
        };
        let identity = Identity {
            mesh: content.mesh,
            member: content.member,
            name: content.name,
            certificate: content.certificate.into(),
            key: PrivatePkcs8KeyDer::from(content.key).into(),
            authority: content.authority.into(),
            secret: content.secret,
        };
        identity.check()?;
        let charter = charter.map(|bytes| Charter::verify(&bytes, &identity)).transpose()?;
        Ok(Self { identity, peers: content.peers, shared: content.shared, charter })
    }
}

fn read<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, MeshError> {
    match postcard::take_from_bytes(bytes) {
        Ok((content, [])) => Ok(content),
        Ok(_) | Err(_) => Err(wrong(DAMAGED)),
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = &self.identity;
        let content = Content {
            mesh: identity.mesh.clone(),
            member: identity.member,
            name: identity.name.clone(),
            certificate: identity.certificate.to_vec(),
            key: identity.key.secret_der().to_vec(),
            authority: identity.authority.to_vec(),
            secret: identity.secret,
            peers: self.peers.clone(),
            shared: self.shared.clone(),
        };
        let (prefix, bytes) = match &self.charter {
            None => (PREFIX, postcard::to_stdvec(&content)),
            Some(charter) => {
                let charter = charter.to_bytes().to_vec();
                (WITH_CHARTER, postcard::to_stdvec(&WithCharter { content, charter }))
            }
        };
        let mut bytes = bytes.map_err(|_| fmt::Error)?;
        bytes.extend_from_slice(&checksum(&bytes));
        write!(f, "{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// The first half of the SHA-256: against accidents, not against enemies, who could make a whole one.
fn checksum(content: &[u8]) -> [u8; CHECKSUM] {
    let mut out = [0; CHECKSUM];
    for (to, from) in out.iter_mut().zip(digest::digest(&digest::SHA256, content).as_ref()) {
        *to = *from;
    }
    out
}

fn wrong(words: &str) -> MeshError {
    MeshError::Invitation(words.to_owned())
}

/// The line of a mesh without a charter. Older versions read it too.
const PREFIX: &str = "meshlock-invite-v1:";
const WITH_CHARTER: &str = "meshlock-invite-v2:";
const ANY_VERSION: &str = "meshlock-invite-v";
const CHECKSUM: usize = 16;
const DAMAGED: &str = "this invitation is damaged: part of it is missing or changed; copy the whole line again";

#[cfg(test)]
mod tests {
    use super::super::Founding;
    use super::super::testing::{found, member_of};
    use super::*;

    fn invitation() -> Invitation {
        let (mut authority, _) = found("hall");
        let identity = member_of(&mut authority, "bob");
        let shared = "[mesh]\nname = \"hall\"\n".into();
        Invitation { identity, peers: vec!["10.0.0.1:7411".into()], shared, charter: None }
    }

    fn with_charter() -> Invitation {
        let (mut authority, _) = found("hall");
        authority.charter = Some(Founding::default().terms(1));
        let identity = member_of(&mut authority, "bob");
        let charter = authority.charter().unwrap();
        Invitation { identity, charter, ..invitation() }
    }

    #[test]
    fn an_invitation_comes_back_as_it_was_however_it_was_folded() {
        for (invitation, version) in [(invitation(), "v1"), (with_charter(), "v2")] {
            let line = invitation.to_string();
            assert!(!line.contains('\n') && line.len() < 2_000, "{} characters", line.len());
            assert!(line.starts_with(&format!("meshlock-invite-{version}:")));
            let folded: String =
                line.as_bytes().chunks(60).map(|part| format!("{} \r\n", String::from_utf8_lossy(part))).collect();
            let back = Invitation::parse(&folded).unwrap();
            assert_eq!(back.to_string(), line);
            assert_eq!((back.identity.name.as_str(), back.identity.member), ("bob", Member(1)));
            assert_eq!((back.peers, back.shared), (invitation.peers, invitation.shared));
            assert_eq!(back.charter, invitation.charter);
        }
    }

    #[test]
    fn a_charter_of_another_mesh_is_refused() {
        let mixed = Invitation { charter: with_charter().charter, ..invitation() };
        let error = Invitation::parse(&mixed.to_string()).expect_err("mixed").to_string();
        assert!(error.contains("charter") && error.contains("another mesh"), "{error}");
    }

    #[test]
    fn every_damage_is_told() {
        let line = with_charter().to_string();
        for at in PREFIX.len()..line.len() {
            let changed: String = line
                .char_indices()
                .map(|(place, c)| if place == at { if c == 'A' { 'B' } else { 'A' } } else { c })
                .collect();
            let error = Invitation::parse(&changed).expect_err("changed").to_string();
            assert!(error.contains("copy the whole line again"), "{error}");
            assert!(Invitation::parse(&line[..at]).is_err(), "cut at {at}");
        }
        assert!(Invitation::parse("hello").expect_err("none").to_string().contains("mesh invite"));
        assert!(Invitation::parse("meshlock-invite-v3:AAAA").expect_err("new").to_string().contains("version"));
    }

    #[test]
    fn it_does_not_show_its_secrets_in_a_log() {
        let invitation = invitation();
        let shown = format!("{invitation:?}");
        assert!(shown.contains("bob") && !shown.contains("secret:"), "{shown}");
    }
}
