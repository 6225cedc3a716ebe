//! What a process uses, as `/proc` tells it. Where there is no `/proc`, nothing is known.

use std::fs;
use std::time::Duration;

/// What a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Vitals {
    /// Processor time so far.
    #[serde(skip)]
    pub(super) processor: Duration,
    /// Memory that is really there, in bytes.
    pub(super) resident: u64,
    pub(super) threads: u64,
    /// Open files and sockets.
    pub(super) files: u64,
}

/// Of a running process.
pub(super) fn of(pid: u32) -> Option<Vitals> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    Some(Vitals { processor: processor(&stat)?, resident: resident(&status)?, threads: threads(&status)?, files })
}

/// Memory of this process.
pub(super) fn resident_here() -> Option<u64> {
    resident(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Linux counts in hundredths of a second here, whatever its timer does.
const TICKS_PER_SECOND: u64 = 100;

fn processor(stat: &str) -> Option<Duration> {
    // The name, in brackets, may have anything in it.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1_000 / TICKS_PER_SECOND))
}

fn resident(status: &str) -> Option<u64> {
    let kilobytes: u64 = field(status, "VmRSS:")?.strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

fn threads(status: &str) -> Option<u64> {
    field(status, "Threads:")?.parse().ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 25 0 0 20 0 9 0 1 2 3";
        assert_eq!(processor(stat), Some(Duration::from_millis(1_750)));
        let status = "Name:\tx\nVmRSS:\t   2048 kB\nThreads:\t9\n";
        assert_eq!((resident(status), threads(status)), (Some(2 << 20), Some(9)));
        assert_eq!((processor("7"), resident(""), threads("")), (None, None, None));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_can_be_seen() {
        let vitals = of(std::process::id()).unwrap();
        assert!(vitals.resident > 0 && vitals.threads > 0 && vitals.files > 0);
    }
}
