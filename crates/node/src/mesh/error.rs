//! What can be wrong with a mesh's files, names and papers. Every message names the fix where there is one.

use std::io;
use std::path::{Path, PathBuf};

/// Members of a mesh, and incarnations of each: both are numbers of 16 bits.
const MOST_NUMBERS: u32 = 1 << 16;

/// What can be wrong with a mesh's files, names and papers.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// A file or directory cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried: read, write, make.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is there and makes no sense.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// A file with a key is readable by all users.
    #[error(
        "every user of this machine can read or change {path}, and with it act as this node or its clients: close it \
            with `chmod o= {path}`; if others may have read it, replace what is in it",
        path = path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// There is no membership.
    #[error(
        "{} has no mesh; make one with `meshlock mesh init NAME`, or take part in one with `meshlock mesh join \
            INVITATION`",
        dir.display()
    )]
    NoMember {
        /// The directory.
        dir: PathBuf,
    },
    /// There is a membership already.
    #[error(
        "{} already has a mesh; use another directory, or move the old mesh aside",
        dir.display()
    )]
    AlreadyMember {
        /// The directory.
        dir: PathBuf,
    },
    /// Only the founder has the authority's key.
    #[error(
        "{} has no authority.toml, so it cannot invite or remove; do it on the node where `meshlock mesh init` was run",
        dir.display()
    )]
    NoAuthority {
        /// The directory.
        dir: PathBuf,
    },
    /// The member runs already.
    #[error(
        "this member is already running{}, with the files in {}; stop it first, or give the other node its own \
            directory and invitation",
        pid.as_ref().map(|pid| format!(" as process {pid}")).unwrap_or_default(),
        dir.display()
    )]
    Running {
        /// The directory.
        dir: PathBuf,
        /// The process, where it can be told.
        pid: Option<String>,
    },
    /// The state of a member was deleted.
    #[error(
        "{} is gone, and with it what this member promised to the others; it must not go on under its old number: \
         remove it with `meshlock mesh remove` and let it join by a new invitation",
        path.display()
    )]
    StateLost {
        /// The file that should be there.
        path: PathBuf,
    },
    /// What a clean stop saved is of a newer version.
    #[error(
        "{} was saved by another version of meshlock ({why}), and nothing of it was touched; start that version again, \
         or, to give up what it kept, move the file away: the node then comes back as a new one",
        path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// What tells that it is another version.
        why: String,
    },
    /// A file of the state is of another version.
    #[error(
        "{} was written by another version of meshlock ({why}), and nothing of it was touched; start that version again",
        path.display()
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What tells that it is another version.
        why: String,
    },
    /// A run that could not store its next incarnation is neither the one nor the other.
    #[error("this node could not store its next incarnation, so its state belongs to none and is not saved")]
    BetweenIncarnations,
    /// Every number for a member was used; none is used twice.
    #[error(
        "this mesh has given out all {MOST_NUMBERS} numbers for members, and none is used twice; found a new mesh and \
         move its members there"
    )]
    NoMemberLeft,
    /// A member crashed so often that it has no number for its next life.
    #[error(
        "this member has used all {MOST_NUMBERS} incarnations, one for each crash; remove it, and join the mesh as \
         a new member"
    )]
    NoIncarnationLeft,
    /// A name cannot be used.
    #[error("{0}")]
    Name(String),
    /// No such member.
    #[error("{0}")]
    NoSuchMember(String),
    /// An invitation cannot be read.
    #[error("{0}")]
    Invitation(String),
    /// The configuration cannot be read.
    #[error("{0}")]
    Config(String),
    /// A certificate does not say what it should.
    #[error("a certificate that is not one of this mesh: {0}")]
    Certificate(String),
    /// A removal is not one of this mesh's authority.
    #[error("a removal that is not one of this mesh: {0}")]
    Removal(&'static str),
    /// A charter or a list of voters is not one of this mesh's authority, or says what cannot be.
    #[error("a {what} that is not one of this mesh: {why}")]
    Statement {
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// What was asked for cannot be decided for a mesh as it is.
    #[error("{0}")]
    Charter(String),
    /// The system's source of random numbers or the library of cryptography failed.
    #[error("cannot make keys: {0}")]
    Keys(String),
}

/// What was tried with a file, for errors.
pub(crate) fn file<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> MeshError + 'a {
    move |source| MeshError::File { what, path: path.to_owned(), source }
}

/// A file that makes no sense.
pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> MeshError {
    MeshError::Damaged { path: path.to_owned(), why: why.into() }
}
