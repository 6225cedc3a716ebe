//! What a member's certificate says, and to whom.
//!
//! Names in a certificate are all that a link needs: one that every member's certificate has, which proves to the one
//! that connects that it reached the mesh; and one that says number and name. The name of the mesh is not in it.

use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use webpki::{EndEntityCert, KeyUsage};

use super::{Member, MeshError, name};

/// The name by which members ask for each other when they connect. It follows from the mesh's secret, so a stranger
/// cannot ask for it, and a node that is asked for anything else shows no certificate.
pub fn server_name(secret: &[u8; 32]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, b"server name");
    // 128 of the 256 bits: a label holds 63 characters, and 128 bits cannot be guessed.
    let label: String = tag.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{label}.mesh")
}

/// The name in a certificate that says whose it is.
pub(super) fn member_name(member: Member, name: &str) -> String {
    format!("m{}.{name}.member", member.0)
}

/// Whose certificate this is. It must have been verified against the mesh's authority before.
pub fn read(certificate: &CertificateDer<'_>) -> Result<(Member, String), MeshError> {
    let wrong = |why: &str| MeshError::Certificate(why.to_owned());
    let parsed = EndEntityCert::try_from(certificate).map_err(|error| MeshError::Certificate(error.to_string()))?;
    let mut members = parsed.valid_dns_names().filter_map(parse_member_name);
    let member = members.next().ok_or_else(|| wrong("it does not say number and name of a member"))?;
    match members.next() {
        None => Ok(member),
        Some(_) => Err(wrong("it says two members")),
    }
}

/// Whether this authority made the certificate, and for this key. Files and invitations are looked at in this way, so
/// that a mistake is told where it was made and not by links that never come up.
pub(super) fn verify(
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    key: &PrivateKeyDer<'_>,
) -> Result<(), MeshError> {
    let other = |error: webpki::Error| {
        // Not made by us if it has an end: ours are good at all times.
        let expired = matches!(error, webpki::Error::CertExpired { .. });
        let early = matches!(error, webpki::Error::CertNotValidYet { .. });
        MeshError::Certificate(match (expired, early) {
            (true, _) => "it has expired, which those of a mesh never do".to_owned(),
            (_, true) => "it is not valid yet, by the clock of this machine".to_owned(),
            (false, false) => format!("the mesh's authority did not make it: {error}"),
        })
    };
    let anchor = webpki::anchor_from_trusted_cert(authority).map_err(other)?;
    let parsed = EndEntityCert::try_from(certificate).map_err(other)?;
    let algorithms: &[&dyn rustls::pki_types::SignatureVerificationAlgorithm] = &[webpki::ring::ED25519];
    for usage in [KeyUsage::server_auth(), KeyUsage::client_auth()] {
        let anchors = std::slice::from_ref(&anchor);
        parsed.verify_for_usage(algorithms, anchors, &[], super::clock::now(), usage, None, None).map_err(other)?;
    }
    let own = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_der());
    let own = own.map_err(|_| MeshError::Certificate("its key cannot be read".to_owned()))?;
    if parsed.subject_public_key_info().as_ref().ends_with(own.public_key().as_ref()) {
        return Ok(());
    }
    Err(MeshError::Certificate("it belongs to another key".to_owned()))
}

/// Whether a certificate has the name by which those who know this secret ask for it. Without it a node would find
/// nobody, and nobody would find it.
pub(super) fn check_secret(certificate: &CertificateDer<'_>, secret: &[u8; 32]) -> Result<(), MeshError> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|error| MeshError::Certificate(error.to_string()))?;
    let name = server_name(secret);
    if parsed.valid_dns_names().any(|found| found == name) {
        return Ok(());
    }
    Err(MeshError::Certificate("the secret beside it is that of another mesh".to_owned()))
}

fn parse_member_name(text: &str) -> Option<(Member, String)> {
    let (number, name) = text.strip_suffix(".member")?.strip_prefix('m')?.split_once('.')?;
    let parsed: u16 = number.parse().ok()?;
    // One way to write a number: no sign, no leading zero.
    (parsed.to_string() == number && name::check("member", name).is_ok()).then(|| (Member(parsed), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, member_of};
    use super::*;

    #[test]
    fn the_server_name_follows_from_the_secret() {
        let one = server_name(&[1; 32]);
        assert_eq!(one, server_name(&[1; 32]));
        assert_ne!(one, server_name(&[2; 32]));
        assert_eq!(one.len(), 32 + ".mesh".len());
    }

    #[test]
    fn a_certificate_of_another_authority_or_key_is_refused() {
        let (mut authority, ann) = found("hall");
        let bob = member_of(&mut authority, "bob");
        let (_, stranger) = found("hall");
        assert!(verify(&ann.certificate, &ann.authority, &ann.key).is_ok());
        let words = verify(&ann.certificate, &stranger.authority, &ann.key).expect_err("stranger").to_string();
        assert!(words.contains("authority did not make it"), "{words}");
        let words = verify(&ann.certificate, &ann.authority, &bob.key).expect_err("other key").to_string();
        assert!(words.contains("another key"), "{words}");
        assert!(verify(&ann.authority, &ann.authority, &ann.key).is_err(), "the authority is no member");
    }

    #[test]
    fn a_member_name_is_read_in_one_way_only() {
        let name = member_name(Member(700), "robot-7");
        assert_eq!(parse_member_name(&name), Some((Member(700), "robot-7".to_owned())));
        for bad in ["m.a.member", "m+1.a.member", "m01.a.member", "m70000.a.member", "m1.a.b.member", "m1.member", "x"]
        {
            assert_eq!(parse_member_name(bad), None, "{bad}");
        }
    }
}
