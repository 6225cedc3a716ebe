//! How many files a process may have open, which this process and those that it starts have in common.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Allows as many as the system lets a user have; how many these are.
pub(super) fn raise_open_files() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // As before if that is not allowed.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
