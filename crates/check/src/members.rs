//! What may happen to members that recover from crashes: they crash and return, are removed, fenced and declared gone,
//! leave and join.
//!
//! Their nodes are [`Recovering`](meshlock_protocols::Recovering). What is certain from outside is done here: clients of
//! a member that crashed hold what they were granted until somebody says that it is gone. Who says so has waited for
//! them: the member itself when it starts again, the operator who removes it, or the voters, who declare only one that
//! crashed, is stopped or has lost its standing, and with it all grants of its clients. With voters, a member that stops
//! in order has no standing from then on, and goes on without until it regains it.
//!
//! The voters are one register: a census. Who comes registers there first and takes over what is known; the heir of a
//! census shows it there before it decides.

use meshlock_core::recovery::Census;

/// What happens to one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Incident {
    /// It loses everything but what is on its disk, and its links fail.
    Crash,
    /// It starts as the next incarnation, after a crash or because it is gone. The clients of the former are done.
    Restart,
    /// The same after it was declared gone or said goodbye, so that it need not happen.
    Return,
    /// An operator removes it for good; another member hears of it.
    Remove,
    /// It loses its standing: its grants are over, and it withholds requests.
    Fence,
    /// It has its standing again.
    Regain,
    /// The voters declare it gone.
    Declare,
    /// The voters tell it what they know.
    Hear,
    /// As an heir, it shows its census to the voters.
    Ratify,
    /// It starts for the first time, with an invitation that names all others.
    Join,
}

impl Incident {
    pub(crate) const ALL: [Self; 10] = [
        Self::Crash,
        Self::Restart,
        Self::Return,
        Self::Remove,
        Self::Fence,
        Self::Regain,
        Self::Declare,
        Self::Hear,
        Self::Ratify,
        Self::Join,
    ];

    /// Whether fairness obliges it to happen in the end if it stays possible.
    pub const fn is_obligatory(self) -> bool {
        match self {
            Self::Restart | Self::Regain | Self::Hear | Self::Ratify => true,
            Self::Crash | Self::Return | Self::Remove | Self::Fence | Self::Declare | Self::Join => false,
        }
    }

    /// What it is called in a run.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Crash => "crashes",
            Self::Restart => "starts again as the next incarnation",
            Self::Return => "comes back as the next incarnation",
            Self::Remove => "is removed for good",
            Self::Fence => "loses its standing",
            Self::Regain => "has its standing again",
            Self::Declare => "is declared gone",
            Self::Hear => "hears from the voters",
            Self::Ratify => "shows its census to the voters",
            Self::Join => "joins",
        }
    }
}

/// What those who say that a member is gone may fail to do first: for the checker's own tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Careless {
    /// A member that starts again does not wait until the clients of its former self are done.
    Starts,
    /// The voters declare members gone that have their standing.
    Declares,
    /// A member that goes on after a clean stop acts before the voters have answered.
    Resumes,
}

/// How often each of these may happen in one run. Zero everywhere: nodes are not members of a mesh that recovers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberBudgets {
    pub crashes: u32,
    /// The only member that crashes; `None` is any.
    pub only: Option<u8>,
    /// Members that come back after they were declared gone or said goodbye.
    pub returns: u32,
    pub removals: u32,
    /// Members that lose their standing.
    pub fences: u32,
    pub declarations: u32,
    /// How many of the nodes, the last ones, have not joined at the start.
    pub joins: u32,
}

/// What is known of members outside of their nodes, and what may still happen to them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Members {
    pub(crate) crashes: u32,
    pub(crate) returns: u32,
    pub(crate) removals: u32,
    pub(crate) fences: u32,
    pub(crate) declarations: u32,
    /// Crashed and not back, as bits.
    pub(crate) crashed: u64,
    /// Crashed or fenced, and said to be gone: its return is not waited for.
    pub(crate) dead: u64,
    pub(crate) removed: u64,
    pub(crate) fenced: u64,
    /// Has not joined yet.
    pub(crate) invited: u64,
    /// What the voters know, where there are voters.
    pub(crate) record: Option<Census>,
}

impl Members {
    pub(crate) fn new(budgets: MemberBudgets, nodes: usize, record: Option<Census>) -> Self {
        let MemberBudgets { crashes, only: _, returns, removals, fences, declarations, joins } = budgets;
        let first = nodes.saturating_sub(joins as usize);
        let invited = (first..nodes).fold(0, |set, node| set | 1 << node);
        let (crashed, dead, removed, fenced) = (0, 0, 0, 0);
        Self { crashes, returns, removals, fences, declarations, crashed, dead, removed, fenced, invited, record }
    }

    /// Whether a member is in operation, as far as is seen from outside.
    pub(crate) const fn is_there(&self, node: usize) -> bool {
        (self.crashed | self.removed | self.invited) >> node & 1 == 0
    }

    pub(crate) const fn is_fenced(&self, node: usize) -> bool {
        self.fenced >> node & 1 == 1
    }

    pub(crate) const fn is_dead(&self, node: usize) -> bool {
        self.dead >> node & 1 == 1
    }
}
