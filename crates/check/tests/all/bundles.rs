//! Several resources, all or none: no deadlock if all clients ask in one order, and one if they do not.

use meshlock_check::bundles::{Asking, BundleModel};
use meshlock_check::plain::{Bounds, Found, STUCK, explore};

fn model(wants: &[&[usize]]) -> BundleModel {
    let wants = wants.iter().map(|wants| wants.to_vec()).collect();
    BundleModel { wants, rounds: 1, gives_up: false, asking: Asking::ByName }
}

fn explored(model: &BundleModel) -> Found {
    explore(model, Bounds { states: 3_000_000, progress: true })
}

/// The models, with their pinned counts.
fn standard() -> Vec<(&'static str, BundleModel, usize)> {
    vec![
        ("opposite lists", model(&[&[0, 1], &[1, 0]]), 62),
        ("opposite lists, twice", BundleModel { rounds: 2, ..model(&[&[0, 1], &[1, 0]]) }, 406),
        ("clients that give up", BundleModel { rounds: 2, gives_up: true, ..model(&[&[0, 1], &[1, 0]]) }, 19_792),
        ("three resources, two clients", model(&[&[0, 1, 2], &[2, 1, 0]]), 130),
        ("a ring of three", model(&[&[0, 1], &[1, 2], &[2, 0]]), 1_229),
        ("all of them beside one", model(&[&[1, 0], &[0], &[0, 1]]), 1_753),
    ]
}

#[test]
fn in_one_order_every_client_is_served() {
    let mut wrong = Vec::new();
    for (name, model, states) in standard() {
        let found = explored(&model);
        let is_as_pinned = found.is_complete && found.broken.is_none() && found.reached > 0 && found.states == states;
        if !is_as_pinned {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn in_the_order_of_their_lists_clients_wait_for_each_other() {
    for (name, model, _) in standard() {
        let found = explored(&BundleModel { asking: Asking::AsListed, ..model });
        assert_eq!(found.broken.expect(name).rule, STUCK, "{name}");
    }
}
