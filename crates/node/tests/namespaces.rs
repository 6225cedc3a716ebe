//! Nodes on a network of their own: each in a network namespace, all on one switch, without any address configured.
//!
//! Needs root and Linux; says so and passes where that is missing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "namespaces/player.rs"]
mod player;
mod support;
#[path = "namespaces/world.rs"]
mod world;

use player::Player;
use support::Mesh;
use world::World;

/// Not a test of its own: what the tests below start inside the namespaces. Does nothing when run as a test.
#[test]
fn child() {
    player::play();
}

#[test]
fn nodes_on_one_network_find_each_other() {
    let Some(world) = World::new("find", &["ann", "bob", "cy"]) else { return };
    let mesh = Mesh::new(1);
    let mut ann = Player::node(&world, &mesh.member(1, "ann"));
    let mut bob = Player::node(&world, &mesh.member(2, "bob"));
    ann.reaches(1, &mut bob, 2);
    let mut cy = Player::node(&world, &mesh.member(3, "cy"));
    bob.reaches(2, &mut cy, 3);
    cy.reaches(3, &mut ann, 1);
}

#[test]
fn nodes_find_each_other_without_any_ipv4() {
    let Some(world) = World::new("six", &["ann", "bob"]) else { return };
    if !world.has_ipv6("ann") {
        println!("skipped: needs IPv6");
        return;
    }
    let mesh = Mesh::new(1);
    world.without_ipv4("ann");
    world.without_ipv4("bob");
    let mut ann = Player::listening(&world, &mesh.member(1, "ann"), "[::]:0");
    let mut bob = Player::listening(&world, &mesh.member(2, "bob"), "[::]:0");
    ann.reaches(1, &mut bob, 2);
    bob.reaches(2, &mut ann, 1);
}

#[test]
fn a_node_that_gets_another_address_keeps_or_regains_its_links() {
    let Some(world) = World::new("roam", &["ann", "bob"]) else { return };
    let mesh = Mesh::new(1);
    let mut ann = Player::node(&world, &mesh.member(1, "ann"));
    let mut bob = Player::node(&world, &mesh.member(2, "bob"));
    for (address, roams) in [(22, "bob"), (11, "ann"), (33, "bob")] {
        ann.reaches(1, &mut bob, 2);
        bob.reaches(2, &mut ann, 1);
        world.roam(roams, address);
    }
    ann.reaches(1, &mut bob, 2);
    bob.reaches(2, &mut ann, 1);
}

#[test]
fn a_cut_is_noticed_and_heals() {
    let Some(world) = World::new("cut", &["ann", "bob", "cy"]) else { return };
    let mesh = Mesh::new(1);
    let mut ann = Player::node(&world, &mesh.member(1, "ann"));
    let mut bob = Player::node(&world, &mesh.member(2, "bob"));
    let mut cy = Player::node(&world, &mesh.member(3, "cy"));
    ann.reaches(1, &mut bob, 2);
    bob.reaches(2, &mut cy, 3);
    cy.reaches(3, &mut ann, 1);
    for player in [&mut ann, &mut bob, &mut cy] {
        player.forget();
    }

    world.unplug("bob");
    let lost: [(_, &[&str]); 3] = [(&mut ann, &["down 2"]), (&mut cy, &["down 2"]), (&mut bob, &["down 1", "down 3"])];
    for (player, links) in lost {
        for link in links {
            // Two nodes that found each other at the same moment may have closed a second link before.
            while !player.says(link).contains("nothing was heard") {}
        }
    }
    cy.reaches(3, &mut ann, 1);

    world.plug("bob");
    ann.reaches(1, &mut bob, 2);
    bob.reaches(2, &mut cy, 3);
}

#[test]
fn a_stranger_on_the_network_gets_nothing() {
    let Some(world) = World::new("alien", &["ann", "bob", "eve", "mallory"]) else { return };
    let (mesh, other) = (Mesh::new(1), Mesh::new(2));
    let mut eve = Player::node(&world, &other.member(2, "eve"));
    let mut ann = Player::node(&world, &mesh.member(1, "ann"));
    let port = ann.says("listens");
    let mut mallory = Player::stranger(&world, "mallory", &format!("10.77.0.1:{port}"));
    let reason = mallory.says("refused");
    assert!(reason.contains("aborted by peer"), "{reason}");
    let mut bob = Player::node(&world, &mesh.member(2, "bob"));
    bob.reaches(2, &mut ann, 1);
    ann.reaches(1, &mut bob, 2);
    assert!(!eve.has_said("up"), "a node of another mesh on the same network links to nobody");
}
