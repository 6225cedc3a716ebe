//! The classics that we compare with: each holds what it promises on networks without faults.

use meshlock_core::{Aging, Demand, Order, Priority, Urgency};
use meshlock_properties::Rule;
use meshlock_protocols::{Name, Text};

use super::{Entry, Expected, network};
use crate::model::{Work, Workload};
use crate::spec::Spec;
use crate::trial::Way;

pub(super) fn entries() -> Vec<Entry> {
    [central(), tokens(), permissions(), raynal()].into_iter().flatten().collect()
}

const ONE: Demand = Demand::units(1, 0);

/// Every node makes `count` requests, each time any of the demands.
fn asking(subject: Name, nodes: usize, count: u32, demands: &[Demand]) -> Spec {
    let spec = Spec::new(subject, Text::Repaired, network(&format!("complete:{nodes}")));
    Spec { workload: Workload::same(nodes, count, demands.to_vec()), ..spec }
}

fn mutex(subject: Name, nodes: usize, count: u32) -> Spec {
    asking(subject, nodes, count, &[ONE])
}

fn unordered(spec: Spec) -> Spec {
    Spec { fifo: false, ..spec }
}

fn central() -> Vec<Entry> {
    let mixed = [ONE, Demand::units(2, 1)];
    let units = |nodes, count| Spec { capacity: 2, ..asking(Name::Central, nodes, count, &mixed) };
    let mut thoughts = units(3, 1);
    thoughts.workload.outstanding = 2;
    thoughts.budgets.cancels = 1;
    thoughts.budgets.reprioritisations = 1;
    thoughts.budgets.urgencies = vec![Urgency::Priority(Priority(-1)), Urgency::Priority(Priority(9))];
    thoughts.workload.nodes[1] = Work::any(2, mixed.to_vec());
    let two = [Demand::session(1, 0), Demand::session(2, 0)];
    let meeting = Spec { capacity: 3, joins: 1, ..asking(Name::Central, 4, 1, &two) };
    let urgent = [ONE, Demand::units(1, 1)];
    let strict = || asking(Name::Central, 3, 1, &urgent).endless(0);
    let aged = Spec { order: Order::Priority { aging: Aging(1) }, overtaking_bound: 4, ..strict() };
    let mut joining = Spec { capacity: 3, joins: 1, ..asking(Name::Central, 2, 1, &[]) }.endless(0);
    joining.workload.outstanding = 2;
    for (work, session) in joining.workload.nodes.iter_mut().zip([1, 2]) {
        *work = Work::in_order(vec![Demand::session(session, 0)]);
    }
    vec![
        Entry::holds("central/three", "mutex, two requests each", mutex(Name::Central, 3, 2), 955),
        Entry::holds("central/units", "1 or 2 of 2 units, two priorities, two requests each", units(3, 2), 7_279),
        Entry::holds("central/second-thoughts", "the same, cancelled and changed", thoughts, 194_407),
        Entry::holds("central/sessions", "two sessions, one may join past the front", meeting, 15_712),
        Entry::holds("central/endless", "equal priorities, endless", mutex(Name::Central, 3, 1).endless(1), 1_125),
        Entry::new(
            "central/strict-endless",
            "two strict priorities forever: the less urgent one starves, as it must",
            strict(),
            Way::GRAPH,
            Expected::Breaks { rule: Rule::Starvation, steps: 25 },
        ),
        Entry::holds("central/aging-endless", "the same with aging: no request starves", aged, 4_759),
        Entry::holds("central/joins-endless", "two sessions forever: the cap lets the other in", joining, 1_438),
    ]
}

fn tokens() -> Vec<Entry> {
    use meshlock_protocols::Name::{NaimiTrehel, Raymond, SuzukiKasami};
    vec![
        Entry::holds("raymond/three", "a node and its two children, three requests each", mutex(Raymond, 3, 3), 2_688),
        Entry::holds("raymond/four", "a tree of three levels, two requests each", mutex(Raymond, 4, 2), 11_079),
        Entry::holds("raymond/six", "a tree of six, one request each", mutex(Raymond, 6, 1), 41_866),
        Entry::holds("raymond/unordered", "messages overtake each other", unordered(mutex(Raymond, 4, 2)), 13_954),
        Entry::holds("raymond/endless", "endless requests", mutex(Raymond, 4, 1).endless(1), 10_954),
        Entry::holds("suzuki-kasami/three", "two requests each", mutex(SuzukiKasami, 3, 2), 15_110),
        Entry::holds("suzuki-kasami/four", "one request each", mutex(SuzukiKasami, 4, 1), 81_039),
        Entry::holds(
            "suzuki-kasami/unordered",
            "messages overtake each other",
            unordered(mutex(SuzukiKasami, 3, 2)),
            25_774,
        ),
        Entry::holds("suzuki-kasami/endless", "endless requests", mutex(SuzukiKasami, 3, 1).endless(0), 5_271),
        Entry::holds("naimi-trehel/three", "two requests each", mutex(NaimiTrehel, 3, 2), 1_432),
        Entry::holds("naimi-trehel/four", "two requests each", mutex(NaimiTrehel, 4, 2), 43_346),
        Entry::holds("naimi-trehel/five", "one request each", mutex(NaimiTrehel, 5, 1), 14_536),
        Entry::holds(
            "naimi-trehel/unordered",
            "messages overtake each other",
            unordered(mutex(NaimiTrehel, 4, 1)),
            1_476,
        ),
        Entry::holds("naimi-trehel/endless", "endless requests", mutex(NaimiTrehel, 3, 1).endless(1), 1_442),
    ]
}

fn permissions() -> Vec<Entry> {
    use meshlock_protocols::Name::{Lamport, RicartAgrawala};
    let mut four = mutex(RicartAgrawala, 4, 1);
    four.workload.nodes[0].count = 0;
    vec![
        Entry::holds("ricart-agrawala/three", "two requests each", mutex(RicartAgrawala, 3, 2), 25_674),
        Entry::holds("ricart-agrawala/four", "three of four nodes ask", four, 37_761),
        Entry::holds_everywhere("ricart-agrawala/four-all", "all four ask", mutex(RicartAgrawala, 4, 1), 1_402_298),
        Entry::holds(
            "ricart-agrawala/unordered",
            "messages overtake each other",
            unordered(mutex(RicartAgrawala, 3, 2)),
            37_229,
        ),
        Entry::holds("ricart-agrawala/endless", "endless requests", mutex(RicartAgrawala, 3, 1).endless(1), 15_060),
        Entry::holds("lamport/two", "three requests each", mutex(Lamport, 2, 3), 13_149),
        Entry::holds("lamport/three", "one request each", mutex(Lamport, 3, 1), 529_584),
        Entry::holds("lamport/two-endless", "endless requests", mutex(Lamport, 2, 1).endless(2), 1_779),
        Entry::holds(
            "lamport/endless",
            "three patient nodes, endless requests",
            mutex(Lamport, 3, 1).endless(0),
            76_323,
        ),
    ]
}

fn raynal() -> Vec<Entry> {
    let three = [ONE, Demand::units(2, 0), Demand::units(3, 0)];
    let units = |nodes, count| Spec { capacity: 3, ..asking(Name::Raynal, nodes, count, &three) };
    let mut twice = units(3, 2);
    for (work, [first, second]) in twice.workload.nodes.iter_mut().zip([[3, 1], [2, 1], [1, 2]]) {
        *work = Work::in_order(vec![Demand::units(first, 0), Demand::units(second, 0)]);
    }
    vec![
        Entry::holds("raynal/two", "1 to 3 of 3 units, three requests each", units(2, 3), 6_117),
        Entry::holds("raynal/three", "1 to 3 of 3 units, one request each", units(3, 1), 92_533),
        Entry::holds("raynal/three-twice", "three nodes, two requests each, of different size", twice, 124_431),
        Entry::holds("raynal/unordered", "messages overtake each other", unordered(units(2, 3)), 32_519),
        Entry::holds("raynal/two-endless", "two nodes, endless requests", units(2, 1).endless(1), 1_309),
        Entry::holds("raynal/endless", "three patient nodes, endless requests", units(3, 1).endless(0), 94_182),
    ]
}
