//! What `state/promises` says, and what follows from it: no clock, no disk.

use std::time::Duration;

use ring::digest;

use super::ClientPlace;

/// A moment on a clock that counts suspend: the time since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Duration);

impl Moment {
    /// So much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// The time from `earlier` to this; none if that is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Which boot of which machine: a random number that the kernel draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// Reads the kernel's form: 32 digits with hyphens.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        (digits.len() == 32).then_some(())?;
        u128::from_str_radix(&digits, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

/// How the run before this one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastRun {
    /// There was none.
    Never,
    /// It saved its state, and with it what clients held: they are held again.
    Clean,
    /// It forgot.
    Crashed,
}

/// What a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    boot: Option<BootId>,
    /// When the latest lease ends; `None` if no client holds anything.
    end: Option<Moment>,
    /// The longest lease of any client that may still hold on.
    longest: Duration,
    /// The longest lease of clients that outlive this machine, as a power of two of milliseconds. What the disk says,
    /// also after a loss of power, is not less.
    elsewhere: Duration,
}

/// What was found on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No file.
    Nothing,
    /// A file that makes no sense.
    Damaged,
    /// A file.
    Whole(Record),
}

/// What has to happen to the file before a lease may be told to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    pub(super) write: bool,
    pub(super) sync: bool,
}

/// How long clients of the former run must be waited for.
pub(super) fn wait(found: &Found, last: LastRun, lease: Duration, boot: Option<BootId>, now: Moment) -> Duration {
    match (last, found) {
        // A clean stop of an older version saved what clients held, and it is held again.
        (LastRun::Never, _) | (LastRun::Clean, Found::Nothing) => Duration::ZERO,
        // A version that noted nothing has crashed, or its file was lost with power: some client may have just been
        // told a lease. Most name none of their own.
        (LastRun::Crashed, Found::Nothing) | (LastRun::Clean | LastRun::Crashed, Found::Damaged) => lease,
        // A clean stop has ended its own promises, but perhaps not those of a run before it that crashed.
        (LastRun::Clean | LastRun::Crashed, Found::Whole(record)) => match (record.boot, boot) {
            (Some(then), Some(now_boot)) if then == now_boot => record.end.map_or(Duration::ZERO, |end| end.since(now)),
            (Some(_), Some(_)) => record.elsewhere,
            // Which boot it was cannot be told, so no moment can be compared.
            (None, _) | (_, None) => match record.end {
                Some(_) => record.longest.max(record.elsewhere),
                None => record.elsewhere,
            },
        },
    }
}

impl Record {
    /// Nobody holds anything.
    pub(super) const fn nothing(boot: Option<BootId>) -> Self {
        Self { boot, end: None, longest: Duration::ZERO, elsewhere: Duration::ZERO }
    }

    /// The record that a run begins with: what is still to be waited for, and what must be waited for again if the
    /// machine crashes meanwhile.
    pub(super) fn begin(found: &Found, boot: Option<BootId>, end: Option<Moment>, wait: Duration) -> Self {
        let elsewhere = match found {
            Found::Whole(record) if end.is_some() => record.elsewhere,
            Found::Whole(_) | Found::Nothing | Found::Damaged => Duration::ZERO,
        };
        Self { boot, end, longest: wait, elsewhere }
    }

    pub(super) const fn boot(&self) -> Option<BootId> {
        self.boot
    }

    pub(super) const fn end(&self) -> Option<Moment> {
        self.end
    }

    /// No client holds on after this.
    pub(super) fn set_end(&mut self, end: Option<Moment>) {
        self.end = end;
    }

    /// What has to be written before a client may hold on until `end`.
    pub(super) fn needs(&self, end: Moment, lease: Duration, client: ClientPlace) -> Needed {
        let sync = client == ClientPlace::Elsewhere && lease > self.elsewhere;
        Needed { write: sync || Some(end) > self.end || lease > self.longest, sync }
    }

    /// A client may hold on until `end`.
    pub(super) fn promise(&mut self, end: Moment, lease: Duration, client: ClientPlace) {
        self.end = self.end.max(Some(end));
        self.longest = self.longest.max(power_of_two(lease));
        if client == ClientPlace::Elsewhere {
            self.elsewhere = self.elsewhere.max(power_of_two(lease));
        }
    }

    /// The file.
    pub(super) fn to_bytes(self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        let boot = self.boot.map_or([0; 16], |boot| boot.0);
        let end = self.end.map_or([0; 8], |end| milliseconds(end.0).saturating_add(1).to_be_bytes());
        let longest = milliseconds(self.longest).to_be_bytes();
        let elsewhere = milliseconds(self.elsewhere).to_be_bytes();
        let parts: [&[u8]; 5] = [MAGIC, &boot, &end, &longest, &elsewhere];
        fill(&mut out, parts.into_iter().flatten());
        let sum = checksum(&out);
        let tail = out.len() - sum.len();
        fill(out.split_at_mut(tail).1, &sum);
        out
    }

    /// Reads a file.
    pub(super) fn read(bytes: &[u8]) -> Found {
        Self::parse(bytes).map_or(Found::Damaged, Found::Whole)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        if !bytes.ends_with(&checksum(bytes)) {
            return None;
        }
        let rest = bytes.strip_prefix(MAGIC)?;
        let (boot, rest) = rest.split_first_chunk::<16>()?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (longest, rest) = rest.split_first_chunk::<8>()?;
        let (elsewhere, _) = rest.split_first_chunk::<8>()?;
        Some(Self {
            boot: (*boot != [0; 16]).then_some(BootId(*boot)),
            end: u64::from_be_bytes(*end).checked_sub(1).map(|end| Moment(Duration::from_millis(end))),
            longest: Duration::from_millis(u64::from_be_bytes(*longest)),
            elsewhere: Duration::from_millis(u64::from_be_bytes(*elsewhere)),
        })
    }
}

/// The next power of two of milliseconds: it grows a few times only, and its growth is synced.
fn power_of_two(time: Duration) -> Duration {
    let ms = milliseconds(time);
    Duration::from_millis(ms.checked_next_power_of_two().unwrap_or(ms))
}

/// Rounded up: ends are never too early.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX - 1)
}

fn fill<'a>(to: &mut [u8], from: impl IntoIterator<Item = &'a u8>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Over everything but itself.
fn checksum(bytes: &[u8; LENGTH]) -> [u8; 8] {
    let (body, _) = bytes.split_at(LENGTH - 8);
    let mut out = [0; 8];
    fill(&mut out, digest::digest(&digest::SHA256, body).as_ref());
    out
}

const MAGIC: &[u8] = b"meshlock promises 1\n";

/// 20 + 16 + 8 + 8 + 8 bytes, and the checksum: far less than a page, so no write is cut in two.
const LENGTH: usize = 68;

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Option<BootId> = Some(BootId([1; 16]));
    const TWO: Option<BootId> = Some(BootId([2; 16]));

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn at(time: u64) -> Moment {
        Moment(seconds(time))
    }

    /// A record with one client that may hold on from 100 to 110.
    fn promised(client: ClientPlace, boot: Option<BootId>) -> Record {
        let mut record = Record::nothing(boot);
        record.promise(at(110), seconds(10), client);
        record
    }

    fn after_crash(record: Record, boot: Option<BootId>, now: u64) -> Duration {
        wait(&Found::Whole(record), LastRun::Crashed, seconds(30), boot, at(now))
    }

    #[test]
    fn in_the_same_boot_the_end_is_waited_for() {
        for client in [ClientPlace::Here, ClientPlace::Elsewhere] {
            let record = promised(client, ONE);
            assert_eq!(after_crash(record, ONE, 102), seconds(8));
            assert_eq!(after_crash(record, ONE, 111), Duration::ZERO);
            let mut cleared = record;
            cleared.set_end(None);
            assert_eq!(after_crash(cleared, ONE, 102), Duration::ZERO, "nobody held anything");
        }
    }

    #[test]
    fn after_a_reboot_only_clients_elsewhere_are_waited_for() {
        assert_eq!(after_crash(promised(ClientPlace::Here, ONE), TWO, 5), Duration::ZERO);
        let elsewhere = promised(ClientPlace::Elsewhere, ONE);
        assert_eq!(after_crash(elsewhere, TWO, 5), Duration::from_millis(16_384), "10 s, as a power of two");
        // That it was cleared reached the disk; a promise after that may not have.
        let mut cleared = elsewhere;
        cleared.set_end(None);
        assert_eq!(after_crash(cleared, TWO, 5), Duration::from_millis(16_384));
    }

    #[test]
    fn where_boots_have_no_names_the_longest_lease_is_waited_for() {
        for (then, now) in [(None, None), (ONE, None), (None, ONE)] {
            assert_eq!(after_crash(promised(ClientPlace::Here, then), now, 5), Duration::from_millis(16_384));
            assert_eq!(after_crash(Record::nothing(then), now, 5), Duration::ZERO);
        }
    }

    #[test]
    fn what_is_not_known_is_waited_for() {
        let wait = |found, last| wait(&found, last, seconds(30), ONE, at(5));
        assert_eq!(wait(Found::Nothing, LastRun::Never), Duration::ZERO);
        assert_eq!(wait(Found::Nothing, LastRun::Clean), Duration::ZERO);
        assert_eq!(wait(Found::Nothing, LastRun::Crashed), seconds(30), "an older version noted nothing");
        assert_eq!(wait(Found::Damaged, LastRun::Clean), seconds(30));
        assert_eq!(wait(Found::Damaged, LastRun::Crashed), seconds(30));
    }

    #[test]
    fn an_end_is_written_only_if_it_grows_and_synced_only_if_the_machine_may_be_outlived() {
        let mut record = Record::nothing(ONE);
        let needs = |record: &Record, end, lease, client| {
            let Needed { write, sync } = record.needs(at(end), seconds(lease), client);
            (write, sync)
        };
        assert_eq!(needs(&record, 110, 10, ClientPlace::Here), (true, false));
        record.promise(at(112), seconds(10), ClientPlace::Here);
        assert_eq!(needs(&record, 112, 10, ClientPlace::Here), (false, false));
        assert_eq!(needs(&record, 113, 10, ClientPlace::Here), (true, false));
        assert_eq!(needs(&record, 105, 20, ClientPlace::Here), (true, false), "a longer lease");
        assert_eq!(needs(&record, 112, 10, ClientPlace::Elsewhere), (true, true));
        record.promise(at(112), seconds(10), ClientPlace::Elsewhere);
        assert_eq!(needs(&record, 112, 16, ClientPlace::Elsewhere), (false, false));
        assert_eq!(needs(&record, 112, 17, ClientPlace::Elsewhere), (true, true));
    }

    #[test]
    fn a_record_comes_back_and_every_damage_is_told() {
        let record = promised(ClientPlace::Elsewhere, ONE);
        for record in [record, Record::nothing(None), Record::nothing(ONE)] {
            assert_eq!(Record::read(&record.to_bytes()), Found::Whole(record));
        }
        let whole = record.to_bytes();
        for at in 0..LENGTH {
            let mut changed = whole;
            changed[at] ^= 1;
            assert_eq!(Record::read(&changed), Found::Damaged, "byte {at}");
            assert_eq!(Record::read(&whole[..at]), Found::Damaged, "cut at {at}");
        }
    }

    /// A change of the format gives [`MAGIC`] the next number.
    #[test]
    fn the_bytes_are_what_they_were() {
        let bytes = promised(ClientPlace::Elsewhere, ONE).to_bytes();
        let end = 110_001_u64.to_be_bytes();
        let longest = 16_384_u64.to_be_bytes();
        let parts = [b"meshlock promises 1\n".as_slice(), &[1; 16], &end, &longest, &longest];
        assert_eq!(bytes[..LENGTH - 8], parts.concat());
    }

    #[test]
    fn ends_are_rounded_up() {
        let mut record = Record::nothing(ONE);
        record.promise(Moment(Duration::from_nanos(1)), Duration::from_nanos(1), ClientPlace::Here);
        let Found::Whole(back) = Record::read(&record.to_bytes()) else { panic!("damaged") };
        assert_eq!(back.end(), Some(Moment(Duration::from_millis(1))));
    }

    #[test]
    fn boots_are_read_as_the_kernel_writes_them() {
        let boot = BootId::parse("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!(boot.0[..4], [0x00, 0x11, 0x22, 0x33]);
        assert_eq!(BootId::parse("0011"), None);
        assert_eq!(BootId::parse("zz112233-4455-6677-8899-aabbccddeeff"), None);
    }
}
