//! One line of text that makes a node a member: everything it needs, and a checksum that tells a damaged paste.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde::{Deserialize, Serialize};

use super::{Identity, Member, MeshError};

/// What a new member gets. Secret: anyone who has it can act as that member.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Who it will be.
    pub identity: Identity,
    /// Where to find others, as `HOST:PORT`. Not needed where they find each other by themselves.
    pub peers: Vec<String>,
    /// The parts of the founder's configuration that all members share, as TOML.
    pub shared: String,
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

impl Invitation {
    /// Reads an invitation. Spaces and line ends that a mail or a terminal put into it do not matter.
    pub fn parse(text: &str) -> Result<Self, MeshError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let Some(body) = text.strip_prefix(PREFIX) else {
            return Err(wrong(match text.strip_prefix(ANY_VERSION) {
                Some(_) => "this invitation is from another version of meshlock; run the same version everywhere",
                None => {
                    "this is no invitation: it begins with meshlock-invite-v1: and is made by `meshlock mesh invite \
                        NAME`"
                }
            }));
        };
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| wrong(DAMAGED))?;
        let length = bytes.len().checked_sub(CHECKSUM).ok_or_else(|| wrong(DAMAGED))?;
        let (content, sum) = bytes.split_at_checked(length).ok_or_else(|| wrong(DAMAGED))?;
        if checksum(content) != sum {
            return Err(wrong(DAMAGED));
        }
        let Ok((content, [])) = postcard::take_from_bytes::<Content>(content) else { return Err(wrong(DAMAGED)) };
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
        Ok(Self { identity, peers: content.peers, shared: content.shared })
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
        let mut bytes = postcard::to_stdvec(&content).map_err(|_| fmt::Error)?;
        bytes.extend_from_slice(&checksum(&bytes));
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
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

const PREFIX: &str = "meshlock-invite-v1:";
const ANY_VERSION: &str = "meshlock-invite-v";
const CHECKSUM: usize = 16;
const DAMAGED: &str = "this invitation is damaged: part of it is missing or changed; copy the whole line again";

#[cfg(test)]
mod tests {
    use super::super::testing::{found, member_of};
    use super::*;

    fn invitation() -> Invitation {
        let (mut authority, _) = found("hall");
        let identity = member_of(&mut authority, "bob");
        Invitation { identity, peers: vec!["10.0.0.1:7411".into()], shared: "[mesh]\nname = \"hall\"\n".into() }
    }

    #[test]
    fn an_invitation_comes_back_as_it_was_however_it_was_folded() {
        let invitation = invitation();
        let line = invitation.to_string();
        assert!(!line.contains('\n') && line.len() < 2_000, "{} characters", line.len());
        let folded: String =
            line.as_bytes().chunks(60).map(|part| format!("{} \r\n", String::from_utf8_lossy(part))).collect();
        let back = Invitation::parse(&folded).unwrap();
        assert_eq!(back.to_string(), line);
        assert_eq!((back.identity.name.as_str(), back.identity.member), ("bob", Member(1)));
        assert_eq!((back.peers, back.shared), (invitation.peers, invitation.shared));
    }

    #[test]
    fn every_damage_is_told() {
        let line = invitation().to_string();
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
        assert!(Invitation::parse("meshlock-invite-v2:AAAA").expect_err("new").to_string().contains("version"));
    }

    #[test]
    fn it_does_not_show_its_secrets_in_a_log() {
        let invitation = invitation();
        let shown = format!("{invitation:?}");
        assert!(shown.contains("bob") && !shown.contains("secret:"), "{shown}");
    }
}
