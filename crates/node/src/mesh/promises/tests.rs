use super::super::faults::FailingDisk;
use super::*;

const BOOT: Option<BootId> = Some(BootId([1; 16]));
const NEXT_BOOT: Option<BootId> = Some(BootId([2; 16]));
const SLACK: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(30);

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn open(dir: &Path, last: LastRun, boot: Option<BootId>, now: u64) -> Promises {
    Promises::open_at(dir, last, SLACK, LEASE, boot, at(now)).unwrap()
}

fn waits(dir: &Path, last: LastRun, boot: Option<BootId>, now: u64) -> Duration {
    open(dir, last, boot, now).wait_needed_at(at(now))
}

#[test]
fn a_killed_node_waits_for_its_clients_and_then_for_nobody() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    assert_eq!(promises.wait_needed_at(at(100)), Duration::ZERO);
    promises.note_at(at(100), seconds(10), ClientPlace::Here).unwrap();
    drop(promises);
    let again = open(place.path(), LastRun::Crashed, BOOT, 102);
    assert_eq!(again.wait_needed_at(at(102)), seconds(10), "until 110, and the slack");
    assert_eq!(again.wait_needed_at(at(113)), Duration::ZERO);
    drop(again);
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 104), seconds(8), "killed while it waited");
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 113), Duration::ZERO);
}

#[test]
fn clearing_leaves_nothing_to_wait_for_but_the_former_clients() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    promises.note_at(at(100), seconds(10), ClientPlace::Here).unwrap();
    promises.clear_at(at(101)).unwrap();
    drop(promises);
    let mut promises = open(place.path(), LastRun::Crashed, BOOT, 102);
    assert_eq!(promises.wait_needed_at(at(102)), Duration::ZERO);
    promises.note_at(at(102), seconds(10), ClientPlace::Here).unwrap();
    drop(promises);
    let mut again = open(place.path(), LastRun::Crashed, BOOT, 104);
    again.clear_at(at(104)).unwrap();
    drop(again);
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 105), seconds(9), "those are not ours to clear");
}

#[test]
fn a_wait_after_a_reboot_goes_on_after_another_crash() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 900);
    promises.note_at(at(900), seconds(10), ClientPlace::Elsewhere).unwrap();
    drop(promises);
    let whole = Duration::from_millis(16_384);
    assert_eq!(waits(place.path(), LastRun::Crashed, NEXT_BOOT, 5), whole);
    assert_eq!(waits(place.path(), LastRun::Crashed, NEXT_BOOT, 10), whole - seconds(5));
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 3), whole, "and after another reboot");
}

#[test]
fn a_clean_end_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    promises.note_at(at(100), seconds(10), ClientPlace::Elsewhere).unwrap();
    promises.end_at(at(101)).unwrap();
    for boot in [BOOT, NEXT_BOOT] {
        assert_eq!(waits(place.path(), LastRun::Clean, boot, 101), Duration::ZERO);
    }
}

#[test]
fn a_clean_end_while_it_waits_leaves_the_rest_of_the_wait() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    promises.note_at(at(100), seconds(10), ClientPlace::Elsewhere).unwrap();
    drop(promises);
    open(place.path(), LastRun::Crashed, BOOT, 102).end_at(at(103)).unwrap();
    assert_eq!(waits(place.path(), LastRun::Clean, BOOT, 104), seconds(8));
    assert_eq!(waits(place.path(), LastRun::Clean, NEXT_BOOT, 4), Duration::from_millis(16_384));
}

#[test]
fn most_renewals_write_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    let content = || std::fs::read(promises_file(place.path())).unwrap();
    promises.note_at(at(100), seconds(10), ClientPlace::Here).unwrap();
    let before = content();
    for now in [100, 101, 102] {
        promises.note_at(at(now), seconds(10), ClientPlace::Here).unwrap();
        assert_eq!(content(), before, "within the slack");
    }
    promises.note_at(at(103), seconds(10), ClientPlace::Here).unwrap();
    assert_ne!(content(), before);
}

#[test]
fn an_older_version_that_crashed_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 100), LEASE);
    let other = tempfile::tempdir().unwrap();
    assert_eq!(waits(other.path(), LastRun::Clean, BOOT, 100), Duration::ZERO);
}

#[test]
fn a_damaged_file_is_waited_for_and_replaced() {
    let place = tempfile::tempdir().unwrap();
    drop(open(place.path(), LastRun::Never, BOOT, 100));
    std::fs::write(promises_file(place.path()), b"rubbish").unwrap();
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 100), LEASE);
    assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 120), seconds(10));
}

#[test]
fn whichever_step_of_opening_fails_the_wait_is_not_forgotten() {
    for step in 0.. {
        let place = tempfile::tempdir().unwrap();
        let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
        promises.note_at(at(100), seconds(10), ClientPlace::Here).unwrap();
        drop(promises);
        let disk = FailingDisk::from(place.path(), step);
        let opened = Promises::open_at(place.path(), LastRun::Crashed, SLACK, LEASE, BOOT, at(101));
        let failed = disk.failed();
        drop(disk);
        assert_eq!(opened.is_err(), failed > 0, "step {step}");
        assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 102), seconds(10), "step {step}");
        if failed == 0 {
            assert!(step >= 4, "only {step} steps");
            return;
        }
    }
}

#[test]
fn a_promise_that_could_not_be_noted_is_an_error_until_it_is() {
    for failing in ["write in place", "sync in place"] {
        let place = tempfile::tempdir().unwrap();
        let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
        let disk = FailingDisk::new(place.path(), move |_, step, _| step == failing);
        for _ in 0..2 {
            assert!(promises.note_at(at(100), seconds(10), ClientPlace::Elsewhere).is_err(), "{failing}");
        }
        let local = promises.note_at(at(100), seconds(10), ClientPlace::Here);
        assert_eq!(local.is_ok(), failing == "sync in place", "clients of this machine need no sync");
        drop(disk);
        promises.note_at(at(100), seconds(10), ClientPlace::Elsewhere).unwrap();
        drop(promises);
        assert_eq!(waits(place.path(), LastRun::Crashed, BOOT, 102), seconds(10));
    }
}

#[test]
fn clients_elsewhere_cost_a_sync_a_few_times_in_a_life() {
    let place = tempfile::tempdir().unwrap();
    let mut promises = open(place.path(), LastRun::Never, BOOT, 100);
    let syncs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&syncs);
    let _disk = FailingDisk::new(place.path(), move |_, step, _| {
        counted.fetch_add(usize::from(step == "sync in place"), std::sync::atomic::Ordering::Relaxed);
        false
    });
    for now in 100..1_000 {
        promises.note_at(at(now), seconds(1 + now % 60), ClientPlace::Elsewhere).unwrap();
        promises.clear_at(at(now)).unwrap();
    }
    assert!(syncs.load(std::sync::atomic::Ordering::Relaxed) <= 7, "{syncs:?}");
}

#[test]
fn the_last_run_is_told_by_what_the_start_found() {
    assert_eq!(LastRun::before(Incarnation(0), false), LastRun::Never);
    assert_eq!(LastRun::before(Incarnation(0), true), LastRun::Clean);
    assert_eq!(LastRun::before(Incarnation(3), true), LastRun::Clean);
    assert_eq!(LastRun::before(Incarnation(3), false), LastRun::Crashed);
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_a_boot_and_a_clock() {
    assert!(this_boot().is_some());
    let (earlier, later) = (Moment::now(), Moment::now());
    assert!(earlier > Moment(Duration::ZERO) && later >= earlier);
}
