//! J-1 to J-16: what Jiang's paper on prioritized h-out-of-k says, and what comes out.
//!
//! `setup` has the scenarios, `after` what the requests of a finished run tell.

mod after;
mod aging;
mod concurrency;
mod family;
mod links;
mod messages;
mod order;
mod safety;
mod setup;
mod shared;
mod waiting;
mod wires;

use crate::claim::Claim;
use crate::lab::Lab;
use crate::verdict::{BY_CHANCE, FAILS, HOLDS, at_most, needs, none, positive};

/// How many runs of a scenario, and how long, in critical sections.
fn size(lab: &Lab) -> (u64, f64) {
    lab.choose((4, 300.0), (10, 1_500.0), (20, 3_000.0))
}

/// The claims of Jiang's paper, in order.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "J-1",
        says: "Never are more than k units in use.",
        demands: &[none(safety::VIOLATIONS), needs(safety::ENTRIES, 1.0)],
        how: "k from 1 to 8, h from 1 to k, fixed and changing links; checked at every event and again from \
                all grants.",
        expected: "No violation, in the printed text either, while k is reached in every run.",
        expects: &[("printed", HOLDS), ("repaired", HOLDS)],
        measure: safety::units_in_use,
    },
    Claim {
        id: "J-2",
        says: "With h = 1 it is k-mutual exclusion, with h = k = 1 mutual exclusion.",
        demands: &[none(safety::OFF_K), needs(safety::ENTRIES, 1.0)],
        how: "The same program in three modes under high load; the most that were inside at once.",
        expected: "Exactly k inside at once, and exactly 1.",
        expects: &[("printed", HOLDS), ("repaired", HOLDS)],
        measure: safety::special_cases,
    },
    Claim {
        id: "J-3",
        says: "There is one token. Its t starts at k and stays between 0 and k.",
        demands: &[
            none(safety::NOT_ONE_TOKEN),
            none(safety::NOT_K_AT_FIRST),
            none(safety::WRONG_SUM),
            none(safety::SCRIPT_LEAKS),
        ],
        how: "Tokens held and on their way are counted after every event; t, units in use and units on their \
                way back are added up in regular looks at the whole network.",
        expected: "Always one token. The sum is k on fixed links; as printed a unit can be lost where links \
                change (p11), repaired never.",
        expects: &[("printed", FAILS), ("printed with p1, p2", FAILS), ("repaired", HOLDS)],
        measure: safety::one_token,
    },
    Claim {
        id: "J-4a",
        says: "The highest priority is served first, as far as the granter knows.",
        demands: &[none(order::KNOWN), needs(safety::ENTRIES, 1.0)],
        how: "Entries that pass a more urgent request the granter knows of; strict priority.",
        expected: "None in any text. Of all entries about 0.12 (0.06 to 0.3, repaired) pass somebody more urgent, \
                since nobody knows everything at once.",
        expects: &[("printed", HOLDS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: order::most_urgent_known_first,
    },
    Claim {
        id: "J-4b",
        says: "The highest priority is served first in the whole network.",
        demands: &[none(order::SETTLED), needs(safety::ENTRIES, 1.0)],
        how: "Entries that pass a more urgent request made so long before that a message could have crossed the \
                network; strict priority. What is still on its way cannot be claimed to be known, so it is not counted.",
        expected: "More than none in every text: below 0.01 when repaired; more than twice that as printed, where \
                urgent requests are not reported on every way (p4 to p6).",
        expects: &[("printed", FAILS), ("printed with p1, p2", FAILS), ("repaired", FAILS)],
        measure: order::most_urgent_first,
    },
    Claim {
        id: "J-5",
        says: "Every request is served in bounded time.",
        demands: &[none(waiting::STUCK)],
        how: "Twelve nodes in a closed loop; who waits 200 critical sections after the last request was made \
                is stuck. And the longest wait at low priority under an overload at high priority.",
        expected: "As printed requests are lost forever, also on fixed links (p1). Repaired: nobody is \
                stuck; under overload waits are bounded only with aging.",
        expects: &[
            ("printed", FAILS),
            ("printed with p1", FAILS),
            ("printed with p1, p2", BY_CHANCE),
            ("printed with p1, p2, p7", BY_CHANCE),
            ("printed with p1, p2, p3, p4, p5, p6, p7, p8", BY_CHANCE),
            ("repaired", HOLDS),
        ],
        measure: waiting::bounded_delay,
    },
    Claim {
        id: "J-6",
        says: "Aging adds epsilon to every queued request whenever the token is passed on and whenever a \
                node leaves.",
        demands: &[none(aging::OFF), none(aging::OFF_LEAVING), needs(aging::POINTS, 1.0)],
        how: "Priorities in the queue in the middle of a star, over the passes of the token; then what aging \
                costs on the random graph.",
        expected: "A slope of exactly epsilon, as printed. But the request of the waiting holder does not age, so \
                the token is taken to and fro: with a large epsilon more than three times the messages. Repaired, \
                aging is another rule and costs no messages.",
        expects: &[("printed", HOLDS), ("printed with p1, p2", HOLDS)],
        measure: aging::adds_epsilon,
    },
    Claim {
        id: "J-7",
        says: "Aging bridges any gap between priorities in the end.",
        demands: &[none(waiting::NOT_IN_TIME), needs(waiting::RUNS, 1.0)],
        how: "Eleven nodes ask without rest at a high priority, for 2.5 times as long as the gap and the queue \
                should take; one asks once at a low one. Whether it is served meanwhile, and after how many later ones.",
        expected: "As printed it may be lost (p1), and a queue ages only when its own node passes the token (p10), so others \
                pass it for longer. Repaired it is served after at most gap x D later requests, and \
                one for each other node that has not heard of it. Without aging: after all of them.",
        expects: &[("printed", FAILS), ("printed with p1, p2", FAILS), ("repaired", HOLDS)],
        measure: waiting::gap_is_bridged,
    },
    Claim {
        id: "J-8",
        says: "The token moves on while its former holder is inside, so that all units can be used.",
        demands: &[none(concurrency::KEPT_INSIDE), positive(concurrency::PASSED_INSIDE)],
        how: "k = 3, h = 1, think 10: how often a node inside passes the token on, and how often it keeps it although \
                a unit is free and another node asks; and the share of the time in which a request waits that would fit.",
        expected: "As printed it is kept, by the guard at REQUEST (p3): requests that would fit wait for about 0.85 of \
                the time; 0.41 to 0.45 repaired, where it is never kept; 0 for an omniscient scheduler.",
        expects: &[
            ("printed", FAILS),
            ("printed with p1, p2", FAILS),
            ("printed with p1, p2, p4, p5, p6, p7, p8", FAILS),
            ("repaired", HOLDS),
        ],
        measure: concurrency::token_moves_on,
    },
    Claim {
        id: "J-9",
        says: "When links stop changing, all ways down end at the token.",
        demands: &[none(links::RESTLESS), none(links::DEAD_ENDS), none(links::LATE)],
        how: "Twenty changes per unit, then none; the network comes to rest, and every node but the holder \
                is asked for a lower neighbour.",
        expected: "True in every run, after at most n a + n squared reversals, where a is the spread of \
                levels when changes stop; then nothing is sent any more.",
        expects: &[("printed", HOLDS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: links::token_oriented,
    },
    Claim {
        id: "J-10",
        says: "A change of links is repaired locally.",
        demands: &[at_most(links::PER_CHANGE, 11.0)],
        how: "Messages per entry with 0, 0.2 and 1 changes per unit, on the same requests; local means that a link \
                that comes or goes costs at most n - 1 = 11 messages (median of the runs), as many as telling everybody.",
        expected: "Far less than 11 for each. At most 2.5 messages per entry more at 0.2 changes per unit, at most 8 \
                at 1.",
        expects: &[("printed", HOLDS), ("printed with p1, p2, p7", HOLDS), ("repaired", HOLDS)],
        measure: links::local_repair,
    },
    Claim {
        id: "J-11a",
        says: "It works unchanged on wired networks.",
        demands: &[none(wires::FAILING)],
        how: "Six fixed networks. A run fails if somebody is never served or a rule ends it.",
        expected: "As printed some are lost (p1). With that repaired all are served.",
        expects: &[("printed", FAILS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: wires::wired_networks,
    },
    Claim {
        id: "J-11b",
        says: "On wired networks the assumption that links keep the order of messages may be dropped.",
        demands: &[none(wires::FAILING)],
        how: "A random graph whose links do not keep the order.",
        expected: "Runs fail in every text: order cannot be dropped.",
        expects: &[("printed", FAILS), ("printed with p1, p2", FAILS), ("repaired", FAILS)],
        measure: wires::without_order,
    },
    Claim {
        id: "J-12",
        says: "With equal priorities it is the same without priorities.",
        demands: &[none(order::SWAPPED), needs(order::KEPT, 1.0)],
        how: "Entries that pass a request made before; and whether claims that stay in a queue change places.",
        expected: "First come, first served in every queue, but not in the network as a whole.",
        expects: &[("printed", HOLDS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: order::equal_priorities,
    },
    Claim {
        id: "J-13",
        says: "A shared whiteboard with k = 3 pens: one for a member, all three for the moderator.",
        demands: &[none(waiting::STUCK), needs(concurrency::ALL_THREE, 1.0)],
        how: "Nine of ten requests for one, one of ten for all three, equal priorities.",
        expected: "As printed some are lost (p1). Repaired, those who want all three are served too; \
                meanwhile units stay idle for them, more than an omniscient scheduler would leave idle.",
        expects: &[("printed", FAILS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: concurrency::whiteboard,
    },
    Claim {
        id: "J-14",
        says: "Nothing is said of the number of messages.",
        demands: &[],
        how: "Messages and transmissions per entry by kind, at light and heavy load, on wires and on a \
                radio; ours beside the printed ones on the same runs, also where messages that nobody waits for share \
                frames; and the set-up of the paper it builds on.",
        expected: "Light load: REQUEST and TOKEN 2.0 to 2.4 each (1.7 to 2.7), LINK 8.4 to 9.2 (7 to 10.5), \
                in all 13 to 15 (12 to 16). LINK is about half or more at every load, one per neighbour and \
                pass.",
        expects: &[],
        measure: messages::per_entry,
    },
    Claim {
        id: "J-15",
        says: "In a later paper: if small amounts go first, most are inside at once.",
        demands: &[positive(concurrency::SMALL_FIRST), positive(concurrency::LARGE_FIRST)],
        how: "Amounts 1, 2 and 3 of 3 under overload; small first, first come, large first.",
        expected: "Most grants at once for small first, fewest for large first; units in use the other way \
                round. Who wants all of them starves, unless requests age.",
        expects: &[("printed", FAILS), ("printed with p1, p2", HOLDS), ("repaired", HOLDS)],
        measure: concurrency::priority_by_amount,
    },
    Claim {
        id: "J-16",
        says: "Networks are never parted. (An assumption; here: a parting does no harm.)",
        demands: &[none(links::AFTER_CUT), none(links::TALKATIVE), none(links::STUCK_HEALED)],
        how: "The link between two rings is cut while nobody asks; in other runs it comes back while all ask.",
        expected: "As printed the part without the token never falls silent (p12). Repaired, nothing is \
                sent, and all are served when the link is back.",
        expects: &[("printed", FAILS), ("printed with p1, p2", FAILS), ("repaired", HOLDS)],
        measure: links::partition,
    },
];
