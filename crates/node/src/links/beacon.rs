//! What a node says on the local medium: a member of this mesh is here, on this port.
//!
//! ```text
//!   version (1)   nonce (12, random)   sealed: member (2), port (2)   tag (16)
//! ```
//!
//! The key comes from the mesh's secret, so strangers neither read nor make beacons, and cannot tell two meshes or two
//! members apart. Who repeats an old beacon from elsewhere makes members knock there, and gains nothing: it cannot
//! answer them.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::mesh::Member;

/// The version of beacons.
const VERSION: u8 = 1;

/// What is sealed.
const BODY: usize = 4;

/// How long a beacon is.
pub(super) const LENGTH: usize = 1 + NONCE_LEN + BODY + 16;

/// Makes and reads the beacons of a mesh.
pub(super) struct Beacons {
    key: LessSafeKey,
    random: SystemRandom,
}

impl Beacons {
    /// With the key that follows from the mesh's secret.
    pub(super) fn new(secret: &[u8; 32]) -> Result<Self, Unspecified> {
        let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"beacon key");
        let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key.as_ref())?);
        Ok(Self { key, random: SystemRandom::new() })
    }

    /// A new beacon.
    pub(super) fn seal(&self, member: Member, port: u16) -> Result<[u8; LENGTH], Unspecified> {
        let mut beacon = [0; LENGTH];
        beacon[0] = VERSION;
        let (head, rest) = beacon.split_at_mut(1 + NONCE_LEN);
        self.random.fill(&mut head[1..])?;
        let (body, tag) = rest.split_at_mut(BODY);
        body[..2].copy_from_slice(&member.0.to_be_bytes());
        body[2..].copy_from_slice(&port.to_be_bytes());
        let nonce = Nonce::try_assume_unique_for_key(&head[1..])?;
        let seal = self.key.seal_in_place_separate_tag(nonce, Aad::from([VERSION]), body)?;
        tag.copy_from_slice(seal.as_ref());
        Ok(beacon)
    }

    /// Who is there and on which port, if a member of this mesh made it.
    pub(super) fn open(&self, beacon: &[u8]) -> Option<(Member, u16)> {
        let mut beacon: [u8; LENGTH] = beacon.try_into().ok()?;
        let (head, sealed) = beacon.split_at_mut(1 + NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&head[1..]).ok()?;
        let body = self.key.open_in_place(nonce, Aad::from([VERSION]), sealed).ok()?;
        match (head[0], body) {
            (VERSION, &mut [member, member_low, port, port_low]) => {
                Some((Member(u16::from_be_bytes([member, member_low])), u16::from_be_bytes([port, port_low])))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_read_beacons_and_others_do_not() {
        let ours = Beacons::new(&[1; 32]).unwrap();
        let theirs = Beacons::new(&[2; 32]).unwrap();
        let beacon = ours.seal(Member(0x0102), 7411).unwrap();
        assert_eq!(ours.open(&beacon), Some((Member(0x0102), 7411)));
        assert_eq!(theirs.open(&beacon), None);
    }

    #[test]
    fn every_beacon_looks_different() {
        let ours = Beacons::new(&[1; 32]).unwrap();
        let (first, second) = (ours.seal(Member(1), 2).unwrap(), ours.seal(Member(1), 2).unwrap());
        assert_ne!(first[1 + NONCE_LEN..], second[1 + NONCE_LEN..]);
    }

    #[test]
    fn no_bit_can_be_changed_and_no_byte_left_out() {
        let ours = Beacons::new(&[1; 32]).unwrap();
        let beacon = ours.seal(Member(3), 4).unwrap();
        for bit in 0..LENGTH * 8 {
            let mut changed = beacon;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ours.open(&changed), None, "bit {bit}");
        }
        for length in 0..LENGTH {
            assert_eq!(ours.open(&beacon[..length]), None);
        }
        assert_eq!(ours.open(&[&beacon[..], &[0]].concat()), None);
    }
}
