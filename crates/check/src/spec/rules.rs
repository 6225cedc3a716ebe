//! What each protocol promises, as the set of rules that is watched unless another one is asked for.

use meshlock_core::{Aging, Order};
use meshlock_properties::{Rule, RuleSet};
use meshlock_protocols::{Name, Text};

use super::{Recovery, Spec};

/// The rules that hold for every run of the protocol in this model, or are claimed to.
pub(super) fn promised(spec: &Spec) -> RuleSet {
    let rules = match spec.subject {
        Name::ReverseLink => reverse_link(spec),
        Name::Flood => flood(spec),
        Name::Group | Name::GroupOverRelay => group(spec),
        Name::Central | Name::Omniscient => central(spec),
        Name::Raymond | Name::SuzukiKasami | Name::NaimiTrehel => any_lock().with(Rule::OneToken).with(Rule::Fences),
        Name::RicartAgrawala | Name::Lamport | Name::Raynal => any_lock(),
    };
    let rules = match spec.recovery {
        Recovery::None => rules,
        Recovery::Restart | Recovery::Voters => {
            rules.without(Rule::Conservation).with(Rule::Ledger).with(Rule::Repaired).with(Rule::Ranks)
        }
    };
    rules.with(Rule::Forgotten).with(Rule::MessagesEnd).with(Rule::Starvation)
}

fn reverse_link(spec: &Spec) -> RuleSet {
    let rules = [
        Rule::Exclusion,
        Rule::OneToken,
        Rule::Conservation,
        Rule::NobodyWaits,
        Rule::GrantOrder,
        Rule::MostUrgentKnown,
        Rule::NoIdleUnits,
        Rule::Numbered,
        Rule::OneSession,
        Rule::Cancelled,
        Rule::UnwantedGrant,
        Rule::Queues,
    ];
    let mut rules: RuleSet = rules.into_iter().collect();
    if spec.text == Text::Repaired {
        rules = rules.with(Rule::Fences);
    }
    if spec.budgets.leaves > 0 {
        rules = rules.with(Rule::Leaving);
    }
    if spec.overtaking_bound < u32::MAX || matches!(spec.order, Order::Priority { aging: Aging(1..) }) {
        rules = rules.with(Rule::Overtaking);
    }
    // A front that is cut off from the token is forgotten there; where requests age, ranks are not seen from outside.
    let timeless = !matches!(spec.order, Order::Priority { aging: Aging(1..) });
    if spec.passes > 0 && timeless && spec.budgets.link_changes == 0 {
        rules = rules.with(Rule::Backfill);
    }
    rules
}

fn flood(spec: &Spec) -> RuleSet {
    let rules = [Rule::Exclusion, Rule::OneToken, Rule::NobodyWaits, Rule::UnwantedGrant, Rule::Cancelled];
    let rules: RuleSet = rules.into_iter().collect();
    if spec.text == Text::Repaired { rules.with(Rule::Fences) } else { rules }
}

fn group(spec: &Spec) -> RuleSet {
    let rules =
        [Rule::OneSession, Rule::OneToken, Rule::NobodyWaits, Rule::UnwantedGrant, Rule::Cancelled, Rule::Occupancy];
    let mut rules: RuleSet = rules.into_iter().collect();
    if spec.text == Text::Repaired {
        rules = rules.with(Rule::Fences);
    }
    // Repeated starts are not counted one by one, and a request that was cancelled is reported by no complete: so the
    // count is exact only where nothing is lost or cancelled.
    let budgets = &spec.budgets;
    let exact = budgets.losses == 0 && budgets.early_timers == 0 && budgets.cancels == 0 && budgets.stops == 0;
    if exact && spec.subject == Name::Group {
        rules = rules.with(Rule::Followers);
    }
    rules
}

/// A coordinator decides alone. Grants travel, so the rules that compare the ledger with the units in use, or queues
/// with each other, do not fit; leaked units show as requests that wait.
fn central(spec: &Spec) -> RuleSet {
    let rules = any_lock().with(Rule::OneSession).with(Rule::GrantOrder);
    // With more than one unit, applications may be told in another order than that of granting.
    let rules = if spec.capacity == 1 { rules.with(Rule::Fences) } else { rules };
    match spec.order {
        // Only the coordinator knows the age of a request, so no other node can compare ranks.
        Order::Priority { aging: Aging(1..) } => rules.with(Rule::Overtaking),
        Order::Priority { aging: Aging(0) } | Order::Deadline => {
            rules.with(Rule::MostUrgentKnown).with(Rule::NoIdleUnits)
        }
    }
}

fn any_lock() -> RuleSet {
    [Rule::Exclusion, Rule::NobodyWaits, Rule::UnwantedGrant, Rule::Cancelled].into_iter().collect()
}
