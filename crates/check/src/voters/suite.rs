//! The standard models of voters, with their pinned counts.

use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{DiskId, List, Settings, Span, Voter, VoterRecord};

use super::world::{ASKER, HEIR, Question, VoterModel};

pub struct Standard {
    pub name: &'static str,
    pub model: VoterModel,
    /// Whether the goal must stay possible from every state.
    pub progress: bool,
    /// How many states it has. 0: it was never explored to its end.
    pub states: usize,
}

fn voter(member: u16) -> Voter {
    Voter { member, disk: DiskId(100 + u64::from(member)) }
}

/// Lists that follow each other.
fn chain(lists: &[&[u16]]) -> Vec<List> {
    let mut chain: Vec<List> = Vec::new();
    for members in lists {
        let voters = members.iter().map(|member| voter(*member));
        chain.push(match chain.last() {
            Some(parent) => List::successor(parent.id(), voters),
            None => List::founding(voters),
        });
    }
    chain
}

/// Two lists for one parent.
fn rivals(first: &[u16], one: &[u16], other: &[u16]) -> Vec<List> {
    let mut lists = chain(&[first, one]);
    lists.push(List::successor(lists[0].id(), other.iter().map(|member| voter(*member))));
    lists
}

fn standing(lists: Vec<List>, last_tick: u64, rounds: u64) -> VoterModel {
    VoterModel { last_tick, rounds, ..VoterModel::new(Question::Standing, lists) }
}

/// Rounds are made when voters call, also twice with the same one, or by the node itself.
fn called(model: VoterModel) -> VoterModel {
    let settings = Settings { round: Span(4), patience: Span(4), ..model.settings };
    VoterModel { calls: true, settings, ..model }
}

fn records(lists: Vec<List>) -> VoterModel {
    VoterModel::new(Question::Records, lists)
}

/// What is said to a voter that has closed its list waits until it opens another.
fn patient(model: VoterModel) -> VoterModel {
    VoterModel { patient: true, ..model }
}

/// The heir asks as often as it learns something.
fn token(lists: Vec<List>) -> VoterModel {
    VoterModel::new(Question::Token, lists)
}

fn model(name: &'static str, model: VoterModel, states: usize) -> Standard {
    let progress = model.question != Question::Standing && model.lost_disks == 0;
    Standard { name, model, progress, states }
}

/// Voter 3 is left behind in the first list, where it refused the node alone; 1, 2 and 4 have opened the second, where 1
/// refused it alone.
fn refused_by_one_in_each() -> VoterModel {
    let lists = chain(&[&[1, 2, 3], &[1, 2, 4]]);
    let record = |member: u16, list: &List, refuses: bool| {
        let mut record = VoterRecord::founding(voter(member).disk, list.clone());
        record.facts.census = Census::of_living([ASKER]);
        record.refused.extend(refuses.then_some(ASKER));
        record.facts.banned.extend(refuses.then_some(ASKER));
        record
    };
    let [first, second] = &lists[..] else { unreachable!("two lists") };
    let records =
        vec![record(1, second, true), record(2, second, false), record(3, first, true), record(4, second, false)];
    VoterModel { records, ..standing(lists, 3, 1) }
}

/// Of three voters these have refused the node; voter 4 follows them.
fn refused_before_change(refusing: &[u16], last_tick: u64) -> VoterModel {
    let lists = chain(&[&[1, 2, 3], &[4]]);
    let record = |member: &u16| {
        let mut record = VoterRecord::founding(voter(*member).disk, lists[0].clone());
        record.facts.census = Census::of_living([ASKER]);
        record.refused.insert(ASKER);
        record.facts.banned.insert(ASKER);
        record
    };
    VoterModel { records: refusing.iter().map(record).collect(), informed: 2, ..standing(lists, last_tick, 1) }
}

/// Of three voters the second has closed the list for one successor, the third for another: the first decides.
fn split_vote() -> VoterModel {
    let lists = rivals(&[1, 2, 3], &[4], &[5]);
    let model = records(lists.clone());
    let record = |member: u16, successor: &List| {
        let mut record = VoterRecord::founding(voter(member).disk, lists[0].clone());
        record.facts.census = model.known();
        record.successor = Some(successor.clone());
        record
    };
    let records = vec![record(2, &lists[1]), record(3, &lists[2])];
    VoterModel { records, informed: 1, ..model.clone() }
}

/// Two of three voters are lost. The third votes alone from now on; newcomer and heir go on.
fn two_lost(question: Question) -> VoterModel {
    let lists = chain(&[&[1, 2, 3]]);
    let list = List::forced(lists[0].id(), [voter(3)], [3, HEIR.member(), ASKER.member()], 9);
    VoterModel { prompt: false, ..VoterModel::new(question, lists).forced(list) }
}

/// A list is forced that leaves the node out, although the only voter is there: it restarts, and another one votes.
fn left_out() -> VoterModel {
    let lists = chain(&[&[1]]);
    let list = List::forced(lists[0].id(), [voter(4)], [1, 4], 9);
    VoterModel { restarts: 1, ..standing(lists, 4, 2).forced(list) }
}

/// Those that every test run explores.
pub fn all() -> Vec<Standard> {
    let three_one = chain(&[&[1, 2, 3], &[1]]);
    vec![
        model("standing/one", VoterModel { restarts: 1, ..standing(chain(&[&[1]]), 5, 2) }, 7_375),
        model("standing/one-resumes", VoterModel { stops: 1, ..standing(chain(&[&[1]]), 4, 2) }, 2_560),
        model("standing/one-called", called(standing(chain(&[&[1]]), 4, 2)), 561),
        model("standing/three-called", called(standing(chain(&[&[1, 2, 3]]), 3, 1)), 5_922),
        model("standing/one-removed", VoterModel { removal: Some(false), ..standing(chain(&[&[1]]), 4, 2) }, 3_977),
        model("standing/three", VoterModel { prompt: false, ..standing(chain(&[&[1, 2, 3]]), 3, 1) }, 189_247),
        model("standing/three-restart", VoterModel { restarts: 1, ..standing(chain(&[&[1, 2, 3]]), 3, 1) }, 36_509),
        model("standing/one-one", standing(chain(&[&[1], &[2]]), 4, 2), 26_310),
        model("standing/one-three", standing(chain(&[&[1], &[1, 2, 3]]), 3, 1), 33_764),
        model("standing/three-one-deaf", VoterModel { deaf: Some(0), ..standing(three_one, 3, 1) }, 38_266),
        model("standing/exchanged", refused_by_one_in_each(), 13_422),
        model("standing/gone-then-changed", refused_before_change(&[1, 2], 1), 1_118),
        model("standing/refused-then-changed", refused_before_change(&[1], 3), 67_275),
        model("standing/forced", left_out(), 99_377),
        model("records/forced", two_lost(Question::Records), 276_226),
        model("records/one", VoterModel { restarts: 1, attempts: 2, ..records(chain(&[&[1]])) }, 49),
        model("records/three", VoterModel { restarts: 1, ..records(chain(&[&[1, 2, 3]])) }, 6_226),
        model("records/three-late", VoterModel { prompt: false, ..records(chain(&[&[1, 2, 3]])) }, 6_133),
        model("records/three-disk", VoterModel { lost_disks: 1, ..records(chain(&[&[1, 2, 3]])) }, 8_707),
        model("records/one-one", VoterModel { restarts: 1, ..records(chain(&[&[1], &[2]])) }, 1_788),
        model("records/one-three", records(chain(&[&[1], &[1, 2, 3]])), 4_746),
        model(
            "records/one-three-death",
            VoterModel { deaths: 1, decides: false, ..records(chain(&[&[1], &[1, 2, 3]])) },
            692,
        ),
        model("records/three-one-behind", VoterModel { informed: 2, ..records(chain(&[&[1, 2, 3], &[1]])) }, 25_514),
        model("records/rivals", split_vote(), 28_736),
        model("records/one-one-one", records(chain(&[&[1], &[2], &[3]])), 7_038),
        model("token/one", VoterModel { restarts: 1, ..token(chain(&[&[1]])) }, 376),
        model("token/three", token(chain(&[&[1, 2, 3]])), 34_118),
        model("token/one-one", VoterModel { restarts: 1, ..token(chain(&[&[1], &[2]])) }, 27_482),
        model("token/one-three", token(chain(&[&[1], &[1, 2, 3]])), 127_133),
    ]
}

/// Those that take minutes.
pub fn large() -> Vec<Standard> {
    let rival_lists = rivals(&[1, 2, 3], &[1], &[2]);
    vec![
        model("standing/three-one", standing(chain(&[&[1, 2, 3], &[1]]), 3, 1), 246_769),
        model("records/one-three-restart", VoterModel { restarts: 1, ..records(chain(&[&[1], &[1, 2, 3]])) }, 35_347),
        model("records/three-one", records(chain(&[&[1, 2, 3], &[1]])), 141_588),
        model("records/exchange", patient(records(chain(&[&[1, 2, 3], &[1, 2, 4]]))), 0),
        model("records/one-three-three", patient(records(chain(&[&[1], &[1, 2, 3], &[2, 3, 4]]))), 0),
        Standard { progress: false, ..model("records/rivals-open", patient(records(rival_lists)), 683_527) },
        model("token/three-restart", VoterModel { restarts: 1, ..token(chain(&[&[1, 2, 3]])) }, 275_537),
        model("token/three-one-behind", VoterModel { informed: 2, ..token(chain(&[&[1, 2, 3], &[1]])) }, 853_270),
        model("token/one-three-restart", VoterModel { restarts: 1, ..token(chain(&[&[1], &[1, 2, 3]])) }, 0),
        model("token/three-one", token(chain(&[&[1, 2, 3], &[1]])), 0),
        model("records/three-one-restart", VoterModel { restarts: 1, ..records(chain(&[&[1, 2, 3], &[1]])) }, 0),
        model("token/forced", VoterModel { prompt: true, ..two_lost(Question::Token) }, 0),
        model("records/five", VoterModel { restarts: 1, ..records(chain(&[&[1, 2, 3, 4, 5]])) }, 0),
    ]
}

pub fn named(name: &str) -> Option<Standard> {
    all().into_iter().chain(large()).find(|standard| standard.name == name)
}
