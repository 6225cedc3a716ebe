//! One model of voters, as data, and what may happen in it.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{
    Act, DiskId, Facts, List, Settings, Span, Start, StartId, Time, Voter, VoterRecord, Voting, Word,
};

use super::memory::Memory;
use super::repair::Repair;
use crate::plain::Plain;

/// The node that asks: it makes rounds, or it registers.
pub(super) const ASKER: NodeId = NodeId::of(8, 0);
/// The node that decides.
pub(super) const HEIR: NodeId = NodeId::of(6, 0);
/// The node of which only the heir knows that it is gone.
pub(super) const DEAD: NodeId = NodeId::of(7, 0);

/// A disk in the place of a lost one.
const REPLACED: DiskId = DiskId(1000);

/// What a model is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Declared gone while it acts?
    Standing,
    /// A newcomer and a decision unaware of each other?
    Records,
    /// Two tokens?
    Token,
}

/// Alters a node that starts: it plants a bug.
pub type Plant = Arc<dyn Fn(&mut Voting)>;

#[derive(Clone)]
pub struct VoterModel {
    pub question: Question,
    /// The first is in force; the others are signed.
    pub(super) lists: Vec<List>,
    /// Of all lists.
    pub(super) voters: Vec<Voter>,
    /// T and W, in ticks.
    pub settings: Settings,
    /// The last tick of any clock.
    pub last_tick: u64,
    /// How far the two clocks may be apart.
    pub skew: u64,
    /// How many rounds the node makes.
    pub rounds: u64,
    /// Voters call for them at any time; otherwise the node makes them by itself.
    pub calls: bool,
    /// How often a voter restarts with its disk.
    pub restarts: u8,
    /// How often a voter loses its disk and restarts.
    pub lost_disks: u8,
    /// How many voters stop for good. What only they remembered is lost then.
    pub deaths: u8,
    /// How often the asking node stops and goes on with saved state.
    pub stops: u8,
    /// The operator removes the asking node, with or without vouching for it.
    pub removal: Option<bool>,
    /// There is an heir that asks.
    pub decides: bool,
    /// How often the heir asks: again when it has learned what it did not know.
    pub attempts: u64,
    /// Some things happen at once, in order to keep the model small: voters look at their clock with every tick and hear
    /// suspicions, either of which could only delay a refusal; and answers about records, which say what is durable
    /// whenever they arrive.
    pub prompt: bool,
    /// How many voters hear of the lists that follow; the others stay behind.
    pub informed: usize,
    /// A voter that no round reaches.
    pub deaf: Option<usize>,
    /// Records that some voters begin with, instead of those of the first list.
    pub records: Vec<VoterRecord>,
    /// The voter that restarts, loses its disk or stops for good.
    pub frail: usize,
    /// A new disk is filled with what all others have: only a planted bug goes on with that.
    pub asks_others: bool,
    /// Who has closed its list hears no question before it opens another: it answers none until then, and whatever it
    /// heard before it answers at that moment, as if it heard it right behind. Not for rules about what it does meanwhile.
    pub patient: bool,
    /// A forced list. Voters that do not go on are lost when it is signed.
    pub(super) forced: Option<List>,
    /// What is done to every node that starts.
    pub plant: Option<Plant>,
    pub(super) memory: Memory,
}

/// One node, which is never changed in place: equal ones are kept once.
#[derive(Clone)]
pub(super) struct Actor(Arc<Inner>);

struct Inner {
    voting: Voting,
    disk: Option<VoterRecord>,
    is_dead: bool,
    hash: u64,
}

/// All words that were ever said, and their hash.
#[derive(Clone)]
pub(super) struct Air(Arc<(BTreeSet<Word>, u64)>);

/// What came of an event at a node.
#[derive(Clone)]
pub(super) struct Outcome {
    actor: Actor,
    said: Arc<[Word]>,
    ratified: Option<Census>,
}

#[derive(Clone, Hash)]
pub struct World {
    /// Voters in the order of their numbers, and then those who ask.
    actors: Vec<Actor>,
    observer: Actor,
    /// Of the asker and of the voters.
    clocks: [u64; 2],
    air: Air,
    restarts: u8,
    lost_disks: u8,
    deaths: u8,
    stops: u8,
    is_forced: bool,
    ratified: Option<Census>,
    repair: Option<Repair>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// One of the two clocks goes on.
    Tick(usize),
    /// A node looks at its clock.
    Wake(usize, NodeId),
    /// A voter calls for the round of a node.
    Call(usize, NodeId),
    Hear(usize, NodeId, Word),
    /// A voter crashes and starts again.
    Restart(usize, NodeId),
    /// A voter starts again with an empty disk.
    LoseDisk(usize, NodeId),
    /// A voter stops for good.
    Die(usize, NodeId),
    /// The node stops, and goes on with saved state.
    Resume(usize, NodeId),
    /// An operator signs the forced list. Voters that it does not name have stopped for good.
    Force,
    /// The newcomer takes the token from its first holder.
    Take,
    /// The first holder crashes, and is declared gone.
    Crash,
    /// Heir and newcomer tell each other what they know, and report.
    Meet,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tick(0) => write!(f, "tick of the node's clock"),
            Self::Tick(_) => write!(f, "tick of the voters' clock"),
            Self::Wake(_, node) => write!(f, "{node} wakes"),
            Self::Call(_, node) => write!(f, "{node} is called"),
            Self::Hear(_, node, word) => write!(f, "{node} hears {word:?}"),
            Self::Restart(_, node) => write!(f, "{node} restarts"),
            Self::LoseDisk(_, node) => write!(f, "{node} loses its disk and restarts"),
            Self::Die(_, node) => write!(f, "{node} stops for good"),
            Self::Resume(_, node) => write!(f, "{node} goes on with saved state"),
            Self::Force => write!(f, "voters are lost, and a list is forced"),
            Self::Take => write!(f, "the newcomer takes the token"),
            Self::Crash => write!(f, "the token's first holder crashes"),
            Self::Meet => write!(f, "heir and newcomer meet"),
        }
    }
}

impl Hash for Actor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

impl Hash for Air {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.1.hash(state);
    }
}

pub(super) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FoldHasher::with_seed(0x0a40_9382_2299_f31d, SharedSeed::global_fixed());
    value.hash(&mut hasher);
    hasher.finish()
}

impl Actor {
    fn new(voting: Voting, disk: Option<VoterRecord>, is_dead: bool) -> Self {
        let hash = hash_of(&(&voting, &disk, is_dead));
        Self(Arc::new(Inner { voting, disk, is_dead, hash }))
    }

    fn voting(&self) -> &Voting {
        &self.0.voting
    }

    pub(super) fn hash(&self) -> u64 {
        self.0.hash
    }
}

impl Air {
    fn of(words: BTreeSet<Word>) -> Self {
        let hash = hash_of(&words);
        Self(Arc::new((words, hash)))
    }

    pub(super) fn hash(&self) -> u64 {
        self.0.1
    }
}

impl VoterModel {
    /// Nothing goes wrong but words that are late or lost.
    pub fn new(question: Question, lists: Vec<List>) -> Self {
        let mut model = Self::of(question, lists);
        model.count_voters();
        model
    }

    /// With a list that is forced.
    #[must_use]
    pub fn forced(mut self, list: List) -> Self {
        self.forced = Some(list);
        self.count_voters();
        self
    }

    fn count_voters(&mut self) {
        let voters = self.lists.iter().chain(&self.forced).flat_map(|list| list.voters().iter().copied());
        self.voters = voters.collect::<BTreeSet<Voter>>().into_iter().collect();
    }

    fn of(question: Question, lists: Vec<List>) -> Self {
        Self {
            question,
            lists,
            voters: Vec::new(),
            settings: Settings {
                standing: Span(1),
                silence: Span(3),
                round: Span(1),
                patience: Span(1),
                gather: Span(0),
                grows: false,
            },
            last_tick: 0,
            skew: 1,
            rounds: 0,
            calls: false,
            restarts: 0,
            lost_disks: 0,
            deaths: 0,
            stops: 0,
            removal: None,
            decides: true,
            attempts: 1,
            prompt: true,
            informed: usize::MAX,
            deaf: None,
            records: Vec::new(),
            frail: 0,
            asks_others: false,
            patient: false,
            forced: None,
            plant: None,
            memory: Memory::default(),
        }
    }

    fn is_voter(&self, at: usize) -> bool {
        at < self.voters.len()
    }

    fn now(&self, world: &World, at: usize) -> Time {
        Time(world.clocks[usize::from(self.is_voter(at))])
    }

    fn asker<'a>(&self, world: &'a World) -> &'a Voting {
        world.actors[self.voters.len()].voting()
    }

    /// The lists that follow, and what the operator wants, are on their way.
    fn with_signed_lists(&self, mut world: World) -> World {
        let signed = self.lists[1..].iter().cloned().map(Word::List);
        let removal = self.removal.map(|vouched| Word::Removal { member: ASKER.member(), vouched });
        self.say(&mut world, &signed.chain(removal).collect::<Vec<_>>());
        world
    }

    /// What every node knew before the model began.
    pub(super) fn known(&self) -> Census {
        match self.question {
            Question::Standing => Census::of_living([ASKER]),
            Question::Records | Question::Token => Census::of_living([HEIR, DEAD]),
        }
    }

    fn start(&self, me: NodeId, resumes: Option<u64>, record: Option<VoterRecord>) -> Voting {
        let start = Start { id: StartId(1), knew: 0, resumes };
        let mut voting = Voting::new(me, start, self.settings, Some(self.lists[0].clone()), record);
        if let Some(plant) = &self.plant {
            plant(&mut voting);
        }
        voting
    }

    /// One who asks knows every list: the worst case for answers that must not be added up.
    fn start_asker(&self, me: NodeId, resumes: Option<u64>) -> Voting {
        let mut voting = self.start(me, resumes, self.asker_disk(me));
        self.lists.iter().for_each(|list| voting.know(list.clone()));
        voting
    }

    /// Only where a list is forced does it matter what one who asks has on disk.
    fn asker_disk(&self, me: NodeId) -> Option<VoterRecord> {
        let goes_on = self.forced.as_ref().is_some_and(|list| goes_on(list, me));
        goes_on.then(|| VoterRecord::new(DiskId(200 + u64::from(me.member()))))
    }

    /// Voters of a list's parent hear of it at any time; to other voters its time makes no difference.
    fn start_voter(&self, member: u16, record: VoterRecord, now: Time) -> (Voting, Vec<Act>) {
        let mut voting = self.start(NodeId::of(member, 0), None, Some(record));
        for list in &self.lists {
            let parent = self.lists.iter().find(|parent| Some(parent.id()) == list.parent());
            if !parent.is_some_and(|parent| has_member(parent, member)) {
                voting.know(list.clone());
            }
        }
        let mut acts = voting.learn(now, &self.known());
        for voter in &self.voters {
            acts.extend(voting.hear(now, Word::Ready { node: NodeId::of(voter.member, 0), voter: *voter }));
        }
        acts.extend(voting.wake(now));
        (voting, acts)
    }

    /// Replaces an actor by what it became, and carries out its acts.
    fn put(&self, world: &mut World, at: usize, voting: Voting, disk: Option<VoterRecord>, acts: Vec<Act>) {
        let outcome = self.outcome(self.now(world, at), voting, disk, acts);
        self.place(world, at, outcome);
    }

    fn outcome(&self, now: Time, mut voting: Voting, mut disk: Option<VoterRecord>, acts: Vec<Act>) -> Outcome {
        let mut said = Vec::new();
        let mut ratified = None;
        let mut open = acts;
        while !open.is_empty() {
            let mut more = Vec::new();
            for act in open {
                match act {
                    Act::Keep(record) => {
                        more.extend(voting.kept(now, &record));
                        disk = Some(record);
                    }
                    Act::Say(word) => said.push(word),
                    Act::Ratified(census) => ratified = Some(census),
                    Act::Learn(_)
                        if self.question == Question::Records
                            && voting.me() == HEIR
                            && voting.counter() < self.attempts =>
                    {
                        let census = voting.census().clone();
                        more.extend(voting.ratify(now, &census));
                    }
                    Act::Learn(_) | Act::Registered | Act::Rejected | Act::Impossible(_) => {}
                }
            }
            open = more;
        }
        said.retain(|word| !matches!(word, Word::Ready { .. }));
        let actor = self.memory.actor(Actor::new(voting, disk, false));
        Outcome { actor, said: said.into(), ratified }
    }

    /// An actor became another one, and the world hears what it said.
    fn place(&self, world: &mut World, at: usize, outcome: Outcome) {
        let Outcome { actor, said, ratified } = outcome;
        if at == world.actors.len() {
            world.actors.push(actor);
        } else {
            world.actors[at] = actor;
        }
        if let (Some(repair), Some(census)) = (&mut world.repair, &ratified) {
            repair.ratified(census);
        }
        world.ratified = ratified.or(world.ratified.take());
        self.say(world, &said);
        self.ask_if_ready(world);
    }

    /// The heir of a repair asks the voters once it has all reports of what it knows.
    fn ask_if_ready(&self, world: &mut World) {
        let at = self.voters.len() + 1;
        let (Some(repair), Some(heir)) = (&mut world.repair, world.actors.get(at)) else { return };
        let Some(census) = repair.learn(heir.voting().census()) else { return };
        let mut voting = heir.voting().clone();
        let disk = heir.0.disk.clone();
        let acts = voting.ratify(self.now(world, at), &census);
        self.put(world, at, voting, disk, acts);
    }

    /// An asker learns facts from elsewhere.
    fn learn(&self, world: &mut World, at: usize, facts: &Census) {
        let (mut voting, disk) = (world.actors[at].voting().clone(), world.actors[at].0.disk.clone());
        let acts = voting.learn(self.now(world, at), facts);
        self.put(world, at, voting, disk, acts);
    }

    fn meet(&self, world: &mut World) {
        let (newcomer, heir) = (self.voters.len(), self.voters.len() + 1);
        let census = |world: &World, at: usize| world.actors[at].voting().census().clone();
        let both = census(world, newcomer).merged(&census(world, heir));
        self.learn(world, newcomer, &both);
        self.learn(world, heir, &both);
        if let Some(repair) = &mut world.repair {
            repair.hear(both);
        }
        self.ask_if_ready(world);
    }

    /// What may happen to the token.
    fn repairs(&self, world: &World, steps: &mut Vec<Step>) {
        let Some(repair) = &world.repair else { return };
        let newcomer = self.asker(world);
        if newcomer.is_registered() && !newcomer.census().is_gone(DEAD) && repair.may_be_taken() {
            steps.push(Step::Take);
        }
        if repair.may_crash() {
            steps.push(Step::Crash);
        }
        if newcomer.is_registered() && repair.can_meet(newcomer.census()) {
            steps.push(Step::Meet);
        }
    }

    /// An actor hears a word. It is a pure value, so what was computed before is looked up.
    fn hear(&self, world: &mut World, at: usize, word: &Word) {
        let now = self.now(world, at);
        let actor = &world.actors[at];
        let outcome = self.memory.outcome((actor.hash(), now, hash_of(word)), || {
            let mut voting = actor.voting().clone();
            let acts = voting.hear(now, word.clone());
            self.outcome(now, voting, actor.0.disk.clone(), acts)
        });
        self.place(world, at, outcome);
    }

    fn say(&self, world: &mut World, said: &[Word]) {
        let said: Vec<Word> = said.iter().filter(|word| !world.air.0.0.contains(*word)).cloned().collect();
        if said.is_empty() {
            return;
        }
        let mut words = world.air.0.0.clone();
        let mut observer = world.observer.voting().clone();
        for word in said {
            let is_seen = matches!(word, Word::Refusal { .. } | Word::Removal { .. } | Word::Removed { .. });
            let is_seen = is_seen || matches!(&word, Word::List(list) if list.force().is_some());
            if is_seen && self.question == Question::Standing {
                observer.hear(Time(0), word.clone());
            }
            words.insert(word);
        }
        let heard_at_once = words.iter().filter(|word| self.prompt && is_prompt(word));
        let heard_at_once: Vec<Word> = heard_at_once.cloned().collect();
        world.air = self.memory.air(Air::of(words));
        world.observer = self.memory.actor(Actor::new(observer, None, false));
        for at in 0..world.actors.len() {
            for word in &heard_at_once {
                if self.concerns(world, at, word) {
                    self.hear(world, at, word);
                }
            }
        }
    }

    /// Whether hearing a word can change anything at an actor.
    fn concerns(&self, world: &World, at: usize, word: &Word) -> bool {
        let voting = world.actors[at].voting();
        let concerned = match word {
            Word::Round { .. } => self.has_served(world, at) && self.deaf != Some(at),
            Word::Register { .. } | Word::Ratify { .. } | Word::Removal { .. } | Word::Suspicion { .. } => {
                self.has_served(world, at)
            }
            Word::List(list) if list.force().is_some() => goes_on(list, voting.me()),
            Word::List(_) => self.is_voter(at) && at < self.informed,
            Word::Yield { list: forced, .. } => {
                let list = self.forced.as_ref().filter(|list| list.id() == *forced);
                let is_open = disk_list(&world.actors[at]).is_some_and(|open| open.id() >= *forced);
                self.is_voter(at) && !is_open && list.is_some_and(|list| has_member(list, voting.me().member()))
            }
            Word::Closing { successor, .. } => {
                let list = self.lists.iter().find(|list| list.id() == *successor);
                let is_open = disk_list(&world.actors[at]).is_some_and(|open| open.id().number >= successor.number);
                self.is_voter(at) && !is_open && list.is_some_and(|list| has_member(list, voting.me().member()))
            }
            Word::Answer { node, .. } | Word::Registration { node, .. } | Word::Ratification { node, .. } => {
                voting.me() == *node
            }
            Word::Refusal { .. } | Word::Removed { .. } | Word::Ready { .. } => false,
        };
        concerned
            && !world.actors[at].0.is_dead
            && voting.words().get(&word.key()).is_none_or(|known| known.age() < word.age())
    }

    /// Whether what newcomer and heir know of each other cannot get worse. An heir that asks only once asks for the very
    /// fact that the newcomer did not know.
    fn is_settled(&self, world: &World) -> bool {
        if let Some(repair) = &world.repair {
            return repair.is_settled();
        }
        let newcomer = self.asker(world);
        let is_aware = self.attempts == 1 && newcomer.census().is_gone(DEAD);
        newcomer.is_registered() && self.question == Question::Records && (world.ratified.is_some() || is_aware)
    }

    /// Questions make no difference before a voter has opened a list: it answers them when it opens one.
    fn has_served(&self, world: &World, at: usize) -> bool {
        let disk = world.actors[at].0.disk.as_ref();
        let waits = |disk: &VoterRecord| self.patient && disk.successor.is_some();
        disk.is_some_and(|disk| (disk.list.is_some() || disk.disk == REPLACED) && !waits(disk))
    }

    fn is_due(&self, world: &World, at: usize) -> bool {
        let voting = world.actors[at].voting();
        let has_rounds = self.is_voter(at) || voting.counter() < self.rounds;
        has_rounds && !world.actors[at].0.is_dead && voting.next_wake().is_some_and(|due| due <= self.now(world, at))
    }

    /// What a call makes of an actor: which round it tells, and what it does besides.
    fn called(&self, world: &World, at: usize) -> (Voting, Option<u64>, Vec<Act>) {
        let mut voting = world.actors[at].voting().clone();
        let (round, acts) = voting.called(self.now(world, at));
        (voting, round, acts)
    }

    /// Every word that can still arrive.
    fn under_way<'a>(&self, world: &'a World) -> BTreeSet<&'a Word> {
        if self.deaths == 0 {
            return world.air.0.0.iter().collect();
        }
        let living = world.actors.iter().filter(|actor| !actor.0.is_dead);
        living.flat_map(|actor| actor.voting().words().all()).collect()
    }

    /// Whether a death took with it what no other knows: no living voter has opened the last list.
    fn is_lost(&self, world: &World) -> bool {
        let last = self.lists.last().map(List::id);
        let opened = |actor: &Actor| !actor.0.is_dead && disk_list(actor).map(List::id) == last;
        world.deaths > 0 && !world.actors.iter().any(opened)
    }
}

fn disk_list(actor: &Actor) -> Option<&List> {
    actor.0.disk.as_ref().and_then(|disk| disk.list.as_ref())
}

const fn is_prompt(word: &Word) -> bool {
    matches!(word, Word::Suspicion { .. } | Word::Registration { .. } | Word::Ratification { .. })
}

fn goes_on(list: &List, node: NodeId) -> bool {
    list.force().is_some_and(|force| force.members.contains(&node.member()))
}

fn has_member(list: &List, member: u16) -> bool {
    list.voters().iter().any(|voter| voter.member == member)
}

impl Plain for VoterModel {
    type State = World;
    type Step = Step;

    fn initial(&self) -> World {
        self.memory.forget();
        let observer = self.start_asker(NodeId::of(10, 0), None);
        let mut world = World {
            actors: Vec::new(),
            observer: Actor::new(observer, None, false),
            clocks: [0; 2],
            air: Air::of(BTreeSet::new()),
            restarts: 0,
            lost_disks: 0,
            deaths: 0,
            stops: 0,
            is_forced: false,
            ratified: None,
            repair: None,
        };
        for (at, voter) in self.voters.iter().enumerate() {
            let mut record = VoterRecord::new(voter.disk);
            if self.lists[0].voters().contains(voter) {
                record = VoterRecord::founding(voter.disk, self.lists[0].clone());
                record.facts = Facts { census: self.known(), ..Facts::default() };
            }
            if let Some(given) = self.records.iter().find(|given| given.disk == voter.disk) {
                record = given.clone();
            }
            let (voting, acts) = self.start_voter(voter.member, record.clone(), Time(0));
            self.put(&mut world, at, voting, Some(record), acts);
        }
        let askers = self.voters.len();
        match self.question {
            Question::Standing => {
                let node = self.start_asker(ASKER, Some(0));
                self.put(&mut world, askers, node, None, Vec::new());
            }
            Question::Records | Question::Token => {
                let mut newcomer = self.start_asker(ASKER, None);
                let acts = newcomer.register(Time(0), &self.known());
                self.put(&mut world, askers, newcomer, self.asker_disk(ASKER), acts);
                if !self.decides {
                    return self.with_signed_lists(world);
                }
                let mut heir = self.start_asker(HEIR, Some(0));
                if self.question == Question::Token {
                    heir.learn(Time(0), &self.known());
                    self.put(&mut world, askers + 1, heir, self.asker_disk(HEIR), Vec::new());
                    world.repair = Some(Repair::new(self.known()));
                    return self.with_signed_lists(world);
                }
                let census = self.known().merged(&Census::gone_fact(DEAD));
                heir.learn(Time(0), &census);
                let acts = heir.ratify(Time(0), &census);
                self.put(&mut world, askers + 1, heir, self.asker_disk(HEIR), acts);
            }
        }
        self.with_signed_lists(world)
    }

    fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.is_settled(world) {
            return steps;
        }
        let [node, voters] = world.clocks;
        if node < self.last_tick && node < voters + self.skew {
            steps.push(Step::Tick(0));
        }
        if voters < self.last_tick && voters < node + self.skew {
            steps.push(Step::Tick(1));
        }
        self.repairs(world, &mut steps);
        if self.forced.is_some() && !world.is_forced {
            steps.push(Step::Force);
        }
        let words = self.under_way(world);
        for (at, actor) in world.actors.iter().enumerate().filter(|(_, actor)| !actor.0.is_dead) {
            let me = actor.voting().me();
            if self.is_due(world, at) {
                steps.push(Step::Wake(at, me));
            }
            if me == ASKER && self.calls && self.called(world, at).0.counter() <= self.rounds {
                steps.push(Step::Call(at, me));
            }
            let heard = words.iter().filter(|word| self.concerns(world, at, word));
            steps.extend(heard.map(|word| Step::Hear(at, me, (*word).clone())));
            if at == self.frail && world.restarts < self.restarts {
                steps.push(Step::Restart(at, me));
            }
            if at == self.frail && world.lost_disks < self.lost_disks {
                steps.push(Step::LoseDisk(at, me));
            }
            if at == self.frail && world.deaths < self.deaths {
                steps.push(Step::Die(at, me));
            }
            if me == ASKER && world.stops < self.stops && actor.voting().counter() > 0 {
                steps.push(Step::Resume(at, me));
            }
        }
        steps
    }

    fn apply(&self, world: &World, step: &Step) -> World {
        let mut after = world.clone();
        let actor = |at: usize| (world.actors[at].voting().clone(), world.actors[at].0.disk.clone());
        match step {
            Step::Tick(clock) => {
                after.clocks[*clock] += 1;
                for at in (0..self.voters.len()).filter(|_| self.prompt && *clock == 1) {
                    if self.is_due(&after, at) {
                        let (mut voting, disk) = (after.actors[at].voting().clone(), after.actors[at].0.disk.clone());
                        let acts = voting.wake(self.now(&after, at));
                        self.put(&mut after, at, voting, disk, acts);
                    }
                }
            }
            Step::Wake(at, _) => {
                let (mut voting, disk) = actor(*at);
                let acts = voting.wake(self.now(world, *at));
                self.put(&mut after, *at, voting, disk, acts);
            }
            Step::Call(at, node) => {
                let (voting, round, acts) = self.called(world, *at);
                self.put(&mut after, *at, voting, actor(*at).1, acts);
                let told = round.map(|round| Word::Round { node: *node, round });
                self.say(&mut after, told.as_slice());
            }
            Step::Hear(at, _, word) => self.hear(&mut after, *at, word),
            Step::Restart(at, _) | Step::LoseDisk(at, _) => {
                let voter = self.voters[*at];
                let mut record = actor(*at).1.unwrap_or_else(|| VoterRecord::new(voter.disk));
                if matches!(step, Step::LoseDisk(..)) {
                    after.lost_disks += 1;
                    record = VoterRecord::new(REPLACED);
                    let others = world.actors.iter().enumerate().filter(|(other, _)| self.asks_others && other != at);
                    let disks = others.filter_map(|(_, other)| other.0.disk.as_ref());
                    disks.for_each(|disk| record.facts.merge(&disk.facts));
                } else {
                    after.restarts += 1;
                }
                let (voting, acts) = self.start_voter(voter.member, record.clone(), self.now(world, *at));
                self.put(&mut after, *at, voting, Some(record), acts);
            }
            Step::Die(at, _) => {
                after.deaths += 1;
                let (voting, disk) = actor(*at);
                after.actors[*at] = Actor::new(voting, disk, true);
            }
            Step::Force => {
                after.is_forced = true;
                let Some(list) = &self.forced else { return after };
                for at in 0..self.voters.len() {
                    let (voting, disk) = actor(at);
                    if !goes_on(list, voting.me()) {
                        after.actors[at] = Actor::new(voting, disk, true);
                    }
                }
                self.say(&mut after, &[Word::List(list.clone())]);
            }
            Step::Take => after.repair.iter_mut().for_each(Repair::take),
            Step::Crash => {
                after.repair.iter_mut().for_each(Repair::crash);
                self.learn(&mut after, self.voters.len() + 1, &Census::gone_fact(DEAD));
            }
            Step::Meet => self.meet(&mut after),
            Step::Resume(at, _) => {
                after.stops += 1;
                let node = self.start_asker(ASKER, Some(world.actors[*at].voting().counter()));
                after.actors[*at] = Actor::new(node, None, false);
            }
        }
        after
    }

    fn broken(&self, world: &World) -> Option<String> {
        match self.question {
            Question::Standing => {
                let is_gone = world.observer.voting().census().is_gone(ASKER);
                let is_acting = self.asker(world).standing_until().is_some_and(|until| Time(world.clocks[0]) < until);
                let is_left_out = |list: &List| !goes_on(list, ASKER) && world.is_forced;
                let forced = self.forced.as_ref().filter(|list| is_left_out(list)).map(List::id);
                let is_renewed = |word: &Word| matches!(word, Word::Answer { list, .. } if Some(*list) == forced);
                if forced.is_some() && world.air.0.0.iter().any(is_renewed) {
                    return Some("left out and renewed".to_owned());
                }
                (is_gone && is_acting).then(|| "gone while it acts".to_owned())
            }
            Question::Records => {
                let newcomer = self.asker(world);
                let census = world.ratified.as_ref()?;
                let knows_newcomer = census.includes(&Census::living_fact(ASKER));
                let unaware = newcomer.is_registered() && !knows_newcomer && !newcomer.census().includes(census);
                unaware.then(|| "newcomer and decision unaware of each other".to_owned())
            }
            Question::Token => {
                let is_twice = world.repair.as_ref().is_some_and(Repair::is_twice);
                is_twice.then(|| "two tokens".to_owned())
            }
        }
    }

    fn is_reached(&self, world: &World) -> bool {
        match self.question {
            Question::Standing => world.observer.voting().census().is_gone(ASKER),
            Question::Records => {
                // Or the heir has learned what it would have to ask about again.
                let heir = world.actors.get(self.voters.len() + 1).map(Actor::voting);
                let knows = |heir: &Voting| heir.census().includes(&Census::living_fact(ASKER));
                let is_answered = world.ratified.is_some() || heir.is_none_or(knows);
                (self.asker(world).is_registered() && is_answered) || self.is_settled(world) || self.is_lost(world)
            }
            Question::Token => world.repair.as_ref().is_some_and(Repair::is_over),
        }
    }

    fn is_progress(&self, step: &Step) -> bool {
        match step {
            Step::Tick(_)
            | Step::Wake(..)
            | Step::Call(..)
            | Step::Hear(..)
            | Step::Force
            | Step::Crash
            | Step::Meet => true,
            Step::Restart(..) | Step::LoseDisk(..) | Step::Die(..) | Step::Resume(..) | Step::Take => false,
        }
    }
}
