//! Stories of a few nodes whose words arrive at once, unless a story says otherwise.

use alloc::vec;
use alloc::vec::Vec;

use super::super::census::Census;
use super::*;
use crate::vocabulary::NodeId;

const T: u64 = 6000;
const SETTINGS: Settings = Settings {
    standing: Span(T),
    silence: Span(T + 1000),
    round: Span(T / 6),
    patience: Span(T / 4),
    gather: Span(0),
    grows: false,
};

fn node(member: u16) -> NodeId {
    NodeId::of(member, 0)
}

fn voter(member: u16) -> Voter {
    Voter { member, disk: DiskId(100 + u64::from(member)) }
}

fn list(members: &[u16]) -> List {
    List::founding(members.iter().map(|member| voter(*member)))
}

fn after(parent: &List, members: &[u16]) -> List {
    List::successor(parent.id(), members.iter().map(|member| voter(*member)))
}

/// Nodes that hear each other, with their disks. Who is away hears and says nothing.
struct Mesh {
    nodes: Vec<Voting>,
    disks: Vec<Option<VoterRecord>>,
    away: Vec<bool>,
    disk_fails: bool,
    now: Time,
    /// What happened, but for words and records.
    log: Vec<(NodeId, Act)>,
}

impl Mesh {
    /// Members 0 to `count`; those of the list are its voters, and all others could vote.
    fn new(count: u16, list: &List) -> Self {
        let mut mesh = Self {
            nodes: vec![],
            disks: vec![],
            away: vec![false; usize::from(count)],
            disk_fails: false,
            now: Time(0),
            log: vec![],
        };
        for member in 0..count {
            let is_voter = list.voters().contains(&voter(member));
            let new = VoterRecord::new(voter(member).disk);
            let record = if is_voter { VoterRecord::founding(new.disk, list.clone()) } else { new };
            mesh.disks.push(Some(record));
            let started = mesh.started(node(member), 1, list);
            mesh.nodes.push(started);
        }
        mesh
    }

    fn started(&self, me: NodeId, id: u64, list: &List) -> Voting {
        let start = Start { id: StartId(id), knew: 2 * u32::from(me.incarnation()), resumes: None };
        Voting::new(me, start, SETTINGS, Some(list.clone()), self.disks[usize::from(me.member())].clone())
    }

    fn carry_out(&mut self, at: usize, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Keep(_) if self.disk_fails => {}
                Act::Keep(record) => {
                    self.disks[at] = Some(record.clone());
                    let more = self.nodes[at].kept(self.now, &record);
                    self.carry_out(at, more);
                }
                Act::Say(word) => {
                    for other in 0..self.nodes.len() {
                        if other != at && !self.away[at] && !self.away[other] {
                            let acts = self.nodes[other].hear(self.now, word.clone());
                            self.carry_out(other, acts);
                        }
                    }
                }
                act @ (Act::Learn(_) | Act::Registered | Act::Rejected | Act::Ratified(_) | Act::Impossible(_)) => {
                    self.log.push((self.nodes[at].me(), act));
                }
            }
        }
    }

    fn register(&mut self, member: u16) {
        let at = usize::from(member);
        let census = Census::of_living([self.nodes[at].me()]);
        let acts = self.nodes[at].register(self.now, &census);
        self.carry_out(at, acts);
    }

    /// So many milliseconds pass; everybody wakes when it wants to.
    fn pass(&mut self, millis: u64) {
        let end = self.now.plus(Span(millis));
        loop {
            let due =
                (0..self.nodes.len()).filter_map(|at| Some((self.nodes[at].next_wake()?.max(self.now), at))).min();
            let Some((time, at)) = due.filter(|(time, _)| *time <= end) else { break };
            self.now = time;
            let acts = self.nodes[at].wake(time);
            self.carry_out(at, acts);
        }
        self.now = end;
    }

    /// Comes back to the others: new links begin with all words.
    fn returns(&mut self, member: u16) {
        let at = usize::from(member);
        self.away[at] = false;
        for other in (0..self.nodes.len()).filter(|other| *other != at) {
            for (from, to) in [(at, other), (other, at)] {
                for word in self.nodes[from].words().all().cloned().collect::<Vec<_>>() {
                    let acts = self.nodes[to].hear(self.now, word);
                    self.carry_out(to, acts);
                }
            }
        }
    }

    fn has_standing(&self, member: u16) -> bool {
        self.nodes[usize::from(member)].standing_until().is_some_and(|until| self.now < until)
    }

    fn knows_gone(&self, member: u16, gone: NodeId) -> bool {
        self.nodes[usize::from(member)].census().is_gone(gone)
    }
}

#[test]
fn a_mesh_of_one_registers_and_has_standing_at_once_without_a_link() {
    let mut mesh = Mesh::new(1, &list(&[0]));
    mesh.register(0);
    assert!(mesh.nodes[0].is_registered() && mesh.has_standing(0));
    mesh.pass(100 * T);
    assert!(mesh.has_standing(0));
}

#[test]
fn nothing_is_said_before_the_record_is_durable() {
    let mut mesh = Mesh::new(1, &list(&[0]));
    mesh.disk_fails = true;
    mesh.register(0);
    assert!(!mesh.nodes[0].is_registered());
    assert!(mesh.nodes[0].words().all().all(|word| word.list().is_none()), "no answer is told to anybody");
    mesh.disk_fails = false;
    let acts = mesh.nodes[0].wake(mesh.now);
    mesh.carry_out(0, acts);
    assert!(mesh.nodes[0].is_registered() && mesh.has_standing(0));
}

#[test]
fn who_is_silent_is_declared_gone_after_its_standing_has_ended() {
    let mut mesh = Mesh::new(4, &list(&[0, 1, 2]));
    (0..4).for_each(|member| mesh.register(member));
    mesh.pass(10 * T);
    assert!((0..4).all(|member| mesh.has_standing(member)));
    mesh.away[3] = true;
    mesh.pass(T);
    assert!(!mesh.has_standing(3) && !mesh.knows_gone(0, node(3)));
    mesh.pass(2000);
    assert!((0..3).all(|member| mesh.knows_gone(member, node(3))));
    assert!((0..3).all(|member| mesh.has_standing(member)));
    let about_gone = |word: &&Word| word.about() == Some(node(3));
    assert_eq!(mesh.nodes[0].words().all().filter(about_gone).count(), 0, "nothing of it is remembered");
}

#[test]
fn a_minority_of_voters_neither_acts_nor_declares() {
    let mut mesh = Mesh::new(3, &list(&[0, 1, 2]));
    (0..3).for_each(|member| mesh.register(member));
    mesh.away[1] = true;
    mesh.away[2] = true;
    mesh.pass(5 * T);
    assert!((0..3).all(|member| !mesh.has_standing(member)));
    assert!(!mesh.knows_gone(0, node(1)) && !mesh.knows_gone(0, node(2)));
    assert!(mesh.nodes[0].suspicions().any(|(by, whom)| by == voter(0) && whom == node(1)));
    mesh.returns(1);
    mesh.pass(T / 3);
    assert!(mesh.has_standing(0) && mesh.has_standing(1), "suspicions are void when it is heard again");
    assert!(mesh.nodes[0].suspicions().all(|(_, whom)| whom == node(2)));
}

#[test]
fn a_restarted_voter_keeps_its_refusals_and_waits_anew() {
    let first = list(&[0]);
    let mut mesh = Mesh::new(2, &first);
    (0..2).for_each(|member| mesh.register(member));
    mesh.away[1] = true;
    mesh.pass(3 * T);
    assert!(mesh.knows_gone(0, node(1)));
    mesh.nodes[0] = mesh.started(NodeId::of(0, 1), 2, &first);
    mesh.register(0);
    mesh.returns(1);
    mesh.pass(3 * T);
    assert!(mesh.has_standing(0) && !mesh.has_standing(1), "a restart keeps the role of the voter");
}

#[test]
fn a_second_start_as_the_same_incarnation_is_rejected() {
    let first = list(&[0]);
    let mut mesh = Mesh::new(2, &first);
    (0..2).for_each(|member| mesh.register(member));
    // The disk was rolled back: it knows nothing of incarnation 0, and begins as that again.
    let twin = Start { id: StartId(7), knew: 0, resumes: None };
    let mut twin = Voting::new(node(1), twin, SETTINGS, Some(first), None);
    twin.register(mesh.now, &Census::default());
    // Its request comes late, when the first has been forgotten as answered.
    let asked = Word::Register { node: node(1), start: StartId(7), knew: 0 };
    assert!(mesh.nodes[0].hear(mesh.now, asked).is_empty(), "who makes rounds has been registered");
    assert!(!twin.is_registered());
}

#[test]
fn a_count_that_does_not_continue_the_record_waits_for_silence() {
    let first = list(&[0]);
    let mut mesh = Mesh::new(2, &first);
    (0..2).for_each(|member| mesh.register(member));
    mesh.away[1] = true;
    // It lost its disk, and was told that incarnation 0 had been there.
    let start = Start { id: StartId(9), knew: 0, resumes: None };
    let lost = Voting::new(NodeId::of(1, 1), start, SETTINGS, Some(first), None);
    mesh.nodes[1] = lost;
    mesh.away[1] = false;
    mesh.register(1);
    assert!(!mesh.nodes[1].is_registered(), "the former may still act");
    mesh.pass(T + 1000);
    assert!(mesh.nodes[1].is_registered() && mesh.knows_gone(1, node(1)));
}

#[test]
fn the_heir_hears_what_it_did_not_know() {
    let mut mesh = Mesh::new(3, &list(&[0]));
    (0..3).for_each(|member| mesh.register(member));
    let census = Census::of_living([node(0), node(1)]);
    let acts = mesh.nodes[1].ratify(mesh.now, &census);
    mesh.carry_out(1, acts);
    assert!(!mesh.log.iter().any(|(_, act)| matches!(act, Act::Ratified(_))));
    assert!(mesh.nodes[1].census().is_living(node(2)), "learned from the voter");
    let census = mesh.nodes[1].census().clone();
    let acts = mesh.nodes[1].ratify(mesh.now, &census);
    mesh.carry_out(1, acts);
    assert!(mesh.log.contains(&(node(1), Act::Ratified(census))));
}

#[test]
fn a_removal_is_a_fact_when_nobody_renews_any_more() {
    let mut mesh = Mesh::new(2, &list(&[0]));
    (0..2).for_each(|member| mesh.register(member));
    let acts = mesh.nodes[0].remove(mesh.now, 1, false);
    mesh.carry_out(0, acts);
    mesh.pass(T - 1);
    assert!(!mesh.nodes[0].census().is_removed(1));
    mesh.pass(2000);
    assert!(mesh.nodes[0].census().is_removed(1) && !mesh.has_standing(1));
    let vouched = {
        let mut mesh = Mesh::new(2, &list(&[0]));
        (0..2).for_each(|member| mesh.register(member));
        let acts = mesh.nodes[0].remove(mesh.now, 1, true);
        mesh.carry_out(0, acts);
        mesh.nodes[0].census().is_removed(1)
    };
    assert!(vouched, "a person vouches that it has stopped");
}

#[test]
fn one_voter_becomes_three_by_itself() {
    let first = list(&[0]);
    let mut mesh = Mesh::new(3, &first);
    mesh.nodes[0] = {
        let start = Start { id: StartId(1), knew: 0, resumes: None };
        let settings = Settings { grows: true, ..SETTINGS };
        Voting::new(node(0), start, settings, Some(first.clone()), mesh.disks[0].clone())
    };
    (0..3).for_each(|member| mesh.register(member));
    mesh.pass(2 * T);
    let three = mesh.nodes[2].list().expect("a list").clone();
    assert_eq!(three.voters(), [voter(0), voter(1), voter(2)]);
    assert!(three.is_founding_step(&first));
    mesh.away[0] = true;
    mesh.pass(3 * T);
    assert!(mesh.has_standing(1) && mesh.has_standing(2) && mesh.knows_gone(1, node(0)));
}

/// Only neighbours of the founder hear it say the first list: everybody else depends on them.
#[test]
fn the_first_list_is_passed_on_and_lets_a_voter_far_from_the_founder_open_the_next() {
    let first = list(&[0]);
    let three = after(&first, &[0, 1, 2]);
    let (start, record) = (Start { id: StartId(1), knew: 0, resumes: None }, VoterRecord::new(voter(2).disk));
    let mut far = Voting::new(node(2), start, SETTINGS, None, Some(record));
    far.hear(Time(0), Word::List(three.clone()));
    let facts = Facts { census: Census::of_living([node(0)]), ..Facts::default() };
    let closing = Word::Closing { list: first.id(), voter: voter(0), successor: three.id(), facts };
    far.hear(Time(0), closing);
    assert_eq!(far.list(), None, "a closing counts for those who know whose majority it needs");
    let acts = far.found(Time(1), first.clone());
    assert_eq!(acts.first(), Some(&Act::Say(Word::List(first.clone()))));
    let opened = |act: &Act| matches!(act, Act::Keep(record) if record.list.as_ref() == Some(&three));
    assert!(acts.iter().any(opened), "{acts:?}");
    let again = far.found(Time(2), first);
    assert!(!again.iter().any(|act| matches!(act, Act::Say(_))), "it does not circulate");
}

#[test]
fn voters_are_exchanged_and_records_move_along() {
    let first = list(&[0, 1, 2]);
    let mut mesh = Mesh::new(4, &first);
    (0..4).for_each(|member| mesh.register(member));
    mesh.away[2] = true;
    mesh.pass(3 * T);
    let (second, acts) = mesh.nodes[0].change_voters(mesh.now, [0, 1, 3].map(voter), vec![]).expect("possible");
    mesh.carry_out(0, acts);
    mesh.pass(2 * T);
    assert!([0, 1, 3].into_iter().all(|member| mesh.has_standing(member)));
    assert_eq!(mesh.nodes[3].list(), Some(&second));
    let record = mesh.disks[3].clone().expect("a voter");
    assert_eq!(record.list, Some(second.clone()));
    assert!(record.facts.census.is_living(node(1)), "taken over");
    // A chain of changes does not pile up words.
    let words = mesh.nodes[1].words().all().count();
    let mut last = second;
    for _ in 0..5 {
        let acts = mesh.nodes[1].change_voters(mesh.now, [0, 1, 3].map(voter), vec![]).expect("possible");
        assert_ne!(acts.0.id(), last.id());
        last = acts.0;
        mesh.carry_out(1, acts.1);
        mesh.pass(2 * T);
    }
    assert_eq!(mesh.nodes[3].list(), Some(&last));
    assert!(mesh.nodes[1].words().all().count() <= words + 4);
    assert_eq!(after(&first, &[0, 1, 3]).id().number, 1);
}

#[test]
fn a_voter_without_its_disk_is_no_voter() {
    let first = list(&[0]);
    let mut mesh = Mesh::new(2, &first);
    mesh.disks[0] = Some(VoterRecord::new(DiskId(5)));
    mesh.nodes[0] = mesh.started(NodeId::of(0, 1), 2, &first);
    (0..2).for_each(|member| mesh.register(member));
    mesh.pass(3 * T);
    assert!(!mesh.nodes[0].is_registered() && !mesh.nodes[1].is_registered());
}

#[test]
fn what_no_honest_peer_says_is_refused() {
    let mut mesh = Mesh::new(1, &list(&[0]));
    let impossible = [
        Word::Round { node: node(1), round: 0 },
        Word::Round { node: node(1), round: u64::MAX },
        Word::Register { node: node(1), start: StartId(1), knew: 9 },
        Word::Ready { node: node(1), voter: voter(2) },
        Word::List(list(&[])),
        Word::List(list(&[1, 1, 1])),
        Word::Ratify { node: node(1), attempt: u64::MAX, census: Census::default() },
    ];
    for word in impossible {
        let before = mesh.nodes[0].clone();
        assert_eq!(mesh.nodes[0].hear(Time(0), word.clone()), [Act::Impossible(word)]);
        assert_eq!(mesh.nodes[0], before);
    }
}

#[test]
fn a_node_that_resumes_has_no_standing_before_it_is_answered() {
    let first = list(&[0]);
    let start = Start { id: StartId(1), knew: 0, resumes: Some(5) };
    let mut resumed = Voting::new(node(1), start, SETTINGS, Some(first.clone()), None);
    let acts = resumed.wake(Time(50));
    assert_eq!(acts, [Act::Say(Word::Round { node: node(1), round: 6 })]);
    let answer = |round| Word::Answer { list: first.id(), voter: voter(0), node: node(1), round };
    resumed.hear(Time(60), answer(5));
    assert_eq!(resumed.standing_until(), None, "an answer from before the stop");
    resumed.hear(Time(70), answer(6));
    assert_eq!(resumed.standing_until(), Some(Time(50 + T)));
}

#[test]
fn without_voters_everything_is_permitted_at_once() {
    let census = Census::of_living([node(0)]);
    assert_eq!(Unvoted.register(Time(0), &census), [Act::Registered]);
    assert_eq!(Unvoted.ratify(Time(0), &census), [Act::Ratified(census)]);
    assert!(Unvoted.may_act(Time(0)) && Unvoted.next_wake().is_none());
}

/// A voter of three in a mesh of so many members, all of which are registered and make rounds.
fn voter_of_many(members: u16) -> (Voting, List, Census) {
    let first = list(&[0, 1, 2]);
    let census = Census::of_living((0..members).map(node));
    let start = Start { id: StartId(1), knew: 0, resumes: Some(0) };
    let mut record = VoterRecord::founding(voter(0).disk, first.clone());
    record.facts.census = census.clone();
    let mut voting = Voting::new(node(0), start, SETTINGS, Some(first.clone()), Some(record));
    voting.learn(Time(0), &census);
    for member in 1..members {
        voting.hear(Time(0), Word::Ready { node: node(member), voter: voter(member) });
        voting.hear(Time(0), Word::Round { node: node(member), round: 1 });
        for by in [1, 2] {
            let answer = Word::Answer { list: first.id(), voter: voter(by), node: node(member), round: 1 };
            voting.hear(Time(0), answer);
        }
    }
    (voting, first, census)
}

/// How many words and nodes are looked at because of a word.
fn looked_at(voting: &mut Voting, now: Time, word: Word) -> u64 {
    looked::take();
    assert!(voting.hear(now, word).iter().any(|act| matches!(act, Act::Say(_))), "it is news");
    voting.next_wake();
    looked::take()
}

#[test]
fn what_a_word_costs_does_not_depend_on_the_size_of_the_mesh() {
    let costs = [10, 1000].map(|members| {
        let (mut voting, list, census) = voter_of_many(members);
        let list = list.id();
        let (now, one, by) = (Time(10), node(members - 1), voter(1));
        let words = [
            Word::Round { node: one, round: 2 },
            Word::Answer { list, voter: by, node: one, round: 2 },
            Word::Suspicion { list, voter: by, node: one, round: 2 },
            Word::Refusal { list, voter: by, node: one },
            Word::Ratify { node: node(1), attempt: 1, census },
            Word::Ready { node: NodeId::of(members, 0), voter: voter(members) },
            Word::Round { node: NodeId::of(members, 0), round: 1 },
        ];
        words.map(|word| looked_at(&mut voting, now, word))
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[1].iter().all(|cost| *cost < 40), "{costs:?}");
}

#[test]
fn in_a_large_mesh_only_those_are_judged_whose_silence_is_long_enough() {
    let (mut voting, list, _) = voter_of_many(1000);
    let late = Time(T / 2);
    for member in 11..1000 {
        voting.hear(late, Word::Round { node: node(member), round: 2 });
    }
    voting.wake(Time(T));
    looked::take();
    let acts = voting.wake(SETTINGS.silence_from(Time(0)));
    assert!(looked::take() < 200, "ten of a thousand");
    let suspected = |act: &&Act| matches!(act, Act::Say(Word::Suspicion { .. }));
    assert_eq!(acts.iter().filter(suspected).count(), 10);
    assert_eq!(voting.next_wake().map(|next| next.min(SETTINGS.silence_from(late))), voting.next_wake());
    // Another voter suspects one of them too: a majority.
    let word = Word::Suspicion { list: list.id(), voter: voter(1), node: node(4), round: 1 };
    let acts = voting.hear(SETTINGS.silence_from(Time(0)), word);
    assert!(acts.iter().any(|act| matches!(act, Act::Keep(record) if record.refused.contains(&node(4)))));
}

impl Settings {
    fn silence_from(self, since: Time) -> Time {
        since.plus(self.silence)
    }
}

#[test]
fn who_is_called_makes_a_round_that_only_voters_hear_as_long_as_they_answer() {
    let list = list(&[0]);
    let mut mesh = Mesh::new(2, &list);
    mesh.register(0);
    mesh.register(1);
    mesh.pass(100);
    let by = voter(0);
    let answered = mesh.nodes[1].standing.round();
    assert!(mesh.nodes[1].is_renewed());
    assert_eq!(mesh.nodes[1].called(mesh.now), (Some(answered), vec![]), "the last one is recent");
    let made = mesh.now;
    for turn in 1..5 {
        let now = made.plus(Span(turn * T / 6));
        let round = answered + turn;
        assert_eq!(mesh.nodes[1].called(now), (Some(round), vec![]), "{turn}");
        assert_eq!(mesh.nodes[1].next_wake(), Some(now.plus(SETTINGS.patience)), "{turn}");
        mesh.nodes[1].hear(now, Word::Answer { list: list.id(), voter: by, node: node(1), round });
        assert_eq!(mesh.nodes[1].standing_until(), Some(now.plus(SETTINGS.standing)), "{turn}");
    }
    // Without answers all are told in the third round at the latest.
    let told = (5..9).map(|turn| mesh.nodes[1].called(made.plus(Span(turn * T / 6))).1.len());
    assert_eq!(told.collect::<Vec<_>>(), [0, 0, 1, 1]);
    let last = made.plus(Span(8 * T / 6));
    assert_eq!(mesh.nodes[1].next_wake(), Some(last.plus(SETTINGS.round)));
    // The rounds of a voter are calls, whoever else calls.
    let round = mesh.nodes[0].standing.round();
    assert_eq!(mesh.nodes[0].called(mesh.now), (Some(round), vec![]));
    assert!(mesh.nodes[1].is_caller(node(0)) && !mesh.nodes[1].is_caller(node(1)));
}

#[test]
fn a_voter_does_not_call_as_long_as_one_before_it_tells_it_the_rounds_of_all() {
    let list = list(&[0]);
    let mut mesh = Mesh::new(1, &list);
    mesh.register(0);
    mesh.pass(100);
    let voter = &mut mesh.nodes[0];
    let made = voter.standing.last_made().expect("a round");
    assert!(voter.calls());
    assert_eq!(voter.next_wake(), Some(made.plus(SETTINGS.round)));
    // It is told late in its round: there is still some time for the next call.
    voter.relieve(made.plus(Span(SETTINGS.round.0 - 1)));
    assert!(!voter.calls());
    assert_eq!(voter.next_wake(), Some(made.plus(SETTINGS.relief())));
    assert!(SETTINGS.round < SETTINGS.relief() && SETTINGS.relief() < SETTINGS.patience);
    // It is called, and makes a round that it need not tell. Then it waits to be told.
    let now = made.plus(SETTINGS.round);
    let round = voter.standing.round() + 1;
    let (told, acts) = voter.called(now);
    assert_eq!(told, Some(round));
    assert!(!acts.iter().any(|act| matches!(act, Act::Say(Word::Round { .. }))), "{acts:?}");
    assert!(voter.calls());
    assert_eq!(voter.next_wake(), Some(now.plus(SETTINGS.round)));
    voter.relieve(now);
    assert_eq!(voter.next_wake(), Some(now.plus(SETTINGS.relief())));
    // Nobody calls any more: it does.
    let due = now.plus(SETTINGS.relief());
    let call = Act::Say(Word::Round { node: node(0), round: round + 1 });
    assert!(voter.wake(due).contains(&call));
    assert!(voter.calls());
}

#[test]
fn newcomers_that_come_soon_after_each_other_are_put_on_record_at_once() {
    let list = list(&[0]);
    let settings = Settings { gather: Span(250), ..SETTINGS };
    let start = Start { id: StartId(1), knew: 0, resumes: None };
    let record = VoterRecord::founding(voter(0).disk, list.clone());
    let mut founder = Voting::new(node(0), start, settings, Some(list), Some(record));
    let kept = |acts: &[Act]| acts.iter().filter(|act| matches!(act, Act::Keep(_))).count();
    let register = |member| Word::Register { node: node(member), start: StartId(1), knew: 0 };
    let acts = founder.hear(Time(1000), register(1));
    assert_eq!(kept(&acts), 1, "the first is not kept waiting");
    founder.kept(Time(1000), &founder.record().expect("a voter"));
    for member in 2..50 {
        assert_eq!(kept(&founder.hear(Time(1100), register(member))), 0);
    }
    assert_eq!(founder.next_wake(), Some(Time(1250)));
    let acts = founder.wake(Time(1250));
    assert_eq!(kept(&acts), 1);
    let record = founder.record().expect("a voter");
    let answers = founder.kept(Time(1250), &record);
    assert_eq!(answers.iter().filter(|act| matches!(act, Act::Say(Word::Registration { .. }))).count(), 48);
    assert_eq!(record.facts.census.living().count(), 49);
    assert!(founder.next_wake() > Some(Time(1250)), "nobody waits");
}
