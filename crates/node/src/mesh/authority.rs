//! The mesh's authority: the key that its founder keeps. It makes members and unmakes them, and takes no part in
//! locking.

use std::fmt;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, SigningKey, date_time_ymd,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::charter::Terms;
use super::identity::fingerprint;
use super::{Charter, Identity, Member, MeshError, certificate, name};

/// The mesh's authority.
pub struct Authority {
    /// The name of the mesh.
    pub mesh: String,
    /// Its certificate, which every member has.
    pub certificate: CertificateDer<'static>,
    /// Known to members only.
    pub secret: [u8; 32],
    /// All members that were ever admitted, in the order of their numbers.
    pub issued: Vec<Issued>,
    /// The number of the next member. Numbers are never used again.
    pub(super) next: u32,
    /// What it decided for the whole mesh. Nothing in a mesh of an older version.
    pub(super) charter: Option<Terms>,
    pub(super) key: KeyPair,
}

/// A member that was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Its number.
    pub member: Member,
    /// Its name.
    pub name: String,
    /// It was removed.
    pub removed: bool,
    /// A person vouched that it has stopped for good, when so many numbers had been given out.
    pub gone: Option<u32>,
}

impl fmt::Debug for Authority {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("mesh", &self.mesh).field("issued", &self.issued).finish_non_exhaustive()
    }
}

impl Authority {
    /// The authority of a new mesh, without members.
    pub fn found(mesh: &str) -> Result<Self, MeshError> {
        name::check("mesh", mesh)?;
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(keys)?;
        let certificate = parameters().self_signed(&key).map_err(keys)?.der().clone();
        let mut secret = [0; 32];
        SystemRandom::new().fill(&mut secret).map_err(|_| MeshError::Keys("no random numbers".to_owned()))?;
        Ok(Self { mesh: mesh.to_owned(), certificate, secret, issued: Vec::new(), next: 0, charter: None, key })
    }

    /// Admits a member under the next number. The change must be stored before anybody gets to see the identity, or
    /// the number might be given twice.
    pub fn admit(&mut self, name: &str) -> Result<Identity, MeshError> {
        name::check("member", name)?;
        if let Some(present) = self.issued.iter().find(|issued| issued.name == name && !issued.removed) {
            let number = present.member.0;
            return Err(MeshError::Name(format!(
                "{name:?} is already a member (number {number}); choose another name, or take the name back first with \
                 `meshlock mesh remove {name}`"
            )));
        }
        let member = u16::try_from(self.next).map(Member).map_err(|_| MeshError::NoMemberLeft)?;
        let identity = self.identity(member, name)?;
        self.next += 1;
        self.issued.push(Issued { member, name: name.to_owned(), removed: false, gone: None });
        Ok(identity)
    }

    /// Everything that makes a node this member, with a new key.
    pub(super) fn identity(&self, member: Member, name: &str) -> Result<Identity, MeshError> {
        let (certificate, key) = self.issue(member, name)?;
        Ok(Identity {
            mesh: self.mesh.clone(),
            member,
            name: name.to_owned(),
            certificate,
            key,
            authority: self.certificate.clone(),
            secret: self.secret,
        })
    }

    /// A certificate for a member, with a new key.
    pub fn issue(
        &self,
        member: Member,
        name: &str,
    ) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), MeshError> {
        name::check("member", name)?;
        let names = [certificate::server_name(&self.secret), certificate::member_name(member, name)];
        let mut own = CertificateParams::new(names).map_err(keys)?;
        own.distinguished_name = DistinguishedName::new();
        own.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        set_validity(&mut own);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(keys)?;
        let issuer = Issuer::new(parameters(), &self.key);
        let certificate = own.signed_by(&key, &issuer).map_err(keys)?.der().clone();
        Ok((certificate, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }

    /// Whether its key is that of the mesh that a member belongs to.
    pub fn check(&self, member: &Identity) -> Result<(), MeshError> {
        let wrong = |why: &str| Err(MeshError::Certificate(why.to_owned()));
        if self.certificate != member.authority || self.secret != member.secret {
            return wrong("authority.toml is that of another mesh");
        }
        let anchor = webpki::anchor_from_trusted_cert(&self.certificate);
        let anchor = anchor.map_err(|error| MeshError::Certificate(error.to_string()))?;
        match anchor.subject_public_key_info.as_ref().ends_with(self.key.public_key_raw()) {
            true => Ok(()),
            false => wrong("the certificate in authority.toml belongs to another key"),
        }
    }

    /// Which mesh this is, beyond its name.
    pub fn fingerprint(&self) -> [u8; 32] {
        fingerprint(&self.certificate)
    }

    /// The member of a name that was not removed.
    pub fn find(&self, name: &str) -> Option<&Issued> {
        self.issued.iter().find(|issued| issued.name == name && !issued.removed)
    }

    /// What it decided for the whole mesh, signed. Nothing in a mesh of an older version.
    pub fn charter(&self) -> Result<Option<Charter>, MeshError> {
        self.charter.as_ref().map(|terms| Charter::sign(self, terms)).transpose()
    }

    pub(super) fn sign(&self, statement: &[u8]) -> Result<Vec<u8>, MeshError> {
        self.key.sign(statement).map_err(keys)
    }
}

/// The authority's own certificate. It has no name of the mesh in it, and is the same in every mesh but for the key.
fn parameters() -> CertificateParams {
    let mut own = CertificateParams::default();
    own.distinguished_name = DistinguishedName::new();
    own.distinguished_name.push(DnType::CommonName, "meshlock");
    own.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    own.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut own);
    own
}

/// For all times that a clock can show. Clocks of robots and small computers are wrong: without a battery they start in
/// 1970 until they are told the time, and a mesh must work without that. Members are removed by a signed
/// statement, never by a date.
fn set_validity(own: &mut CertificateParams) {
    own.not_before = date_time_ymd(1970, 1, 1);
    own.not_after = date_time_ymd(9999, 12, 31);
}

fn keys(error: rcgen::Error) -> MeshError {
    MeshError::Keys(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::pki_types::UnixTime;
    use webpki::{EndEntityCert, KeyUsage, ring::ED25519};

    use super::super::testing::{found, member_of};
    use super::*;

    fn is_member(identity: &Identity, authority: &CertificateDer<'_>, seconds: u64) -> Result<(), webpki::Error> {
        let anchor = webpki::anchor_from_trusted_cert(authority)?;
        let end = EndEntityCert::try_from(&identity.certificate)?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        for usage in [KeyUsage::client_auth(), KeyUsage::server_auth()] {
            end.verify_for_usage(&[ED25519], std::slice::from_ref(&anchor), &[], now, usage, None, None)?;
        }
        Ok(())
    }

    #[test]
    fn members_are_numbered_and_their_certificates_say_so() {
        let (mut authority, ann) = found("hall");
        let bob = member_of(&mut authority, "bob");
        assert_eq!((ann.member, bob.member), (Member(0), Member(1)));
        assert_eq!(certificate::read(&bob.certificate).unwrap(), (Member(1), "bob".to_owned()));
        assert!(bob.check().is_ok());
        let text = String::from_utf8_lossy(&bob.certificate).into_owned();
        assert!(text.contains(&certificate::server_name(&bob.secret)));
        assert!(!text.contains("hall"), "the name of the mesh is nobody's business");
    }

    #[test]
    fn certificates_are_good_whatever_the_clock_says_and_only_in_their_mesh() {
        let (_, ann) = found("hall");
        let (other, _) = found("hall");
        for year in [0, 1, 30, 60, 500] {
            let seconds = year * 31_557_600;
            assert_eq!(is_member(&ann, &ann.authority, seconds), Ok(()), "{year} years after 1970");
            assert!(is_member(&ann, &other.certificate, seconds).is_err());
        }
    }

    #[test]
    fn a_certificate_with_an_end_is_refused_in_words() {
        let (authority, ann) = found("hall");
        for (from, to, words) in [(1970, 1999, "it has expired"), (9998, 9999, "it is not valid yet")] {
            let names = [certificate::server_name(&authority.secret), certificate::member_name(Member(0), "ann")];
            let mut own = CertificateParams::new(names).unwrap();
            own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            (own.not_before, own.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 12, 31));
            let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
            let made = own.signed_by(&key, &Issuer::new(parameters(), &authority.key)).unwrap().der().clone();
            let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
            let told = Identity { certificate: made, key, ..ann.clone() }.check().expect_err(words).to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn a_name_is_free_again_after_a_removal_but_its_number_is_not() {
        let (mut authority, _) = found("hall");
        member_of(&mut authority, "bob");
        let error = authority.admit("bob").expect_err("twice").to_string();
        assert!(error.contains("mesh remove bob"), "{error}");
        authority.issued[1].removed = true;
        assert_eq!(member_of(&mut authority, "bob").member, Member(2));
    }

    #[test]
    fn numbers_have_an_end() {
        let (mut authority, _) = found("hall");
        authority.next = 0xffff;
        assert_eq!(member_of(&mut authority, "last").member, Member(0xffff));
        let error = authority.admit("one-more").expect_err("the 65,537th").to_string();
        assert!(error.contains("65536") && error.contains("found a new mesh"), "{error}");
        assert!(authority.find("last").is_some(), "the others stay members");
    }
}
