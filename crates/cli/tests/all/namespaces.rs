//! Whole nodes, each on a machine of its own as far as it can tell: in network namespaces, all on one switch.
//!
//! Needs root and Linux; says so and passes where that is missing.

use rustix::process::Signal;

use crate::network;
use crate::process::until;
use crate::world::World;

/// A mesh with a namespace for every member, none of which runs. Dropped in this order: nodes, then namespaces.
struct Wired {
    world: World,
    network: network::World,
}

impl Wired {
    /// Several meshes on one switch; nothing where that is not allowed.
    fn new(case: &str, meshes: &[(&str, &[&str])]) -> Option<Self> {
        let names: Vec<&str> = meshes.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let network = network::World::new(case, &names)?;
        let mut world = World::empty();
        for (mesh, members) in meshes {
            world.found(mesh, members, "");
        }
        for (index, name) in names.iter().enumerate() {
            world.set_start(index, &["ip", "netns", "exec", &network.namespace(name)], &[]);
        }
        Some(Self { world, network })
    }

    /// Starts nodes that know of no address.
    fn begin(&mut self, nodes: &[usize]) {
        for node in nodes {
            self.world.begin(*node);
        }
    }

    /// The names of a node's neighbours as it sees them.
    fn neighbours(&self, node: usize) -> Vec<String> {
        let status = self.world.status(node, None);
        let mut names: Vec<String> = status.nodes[0].links.iter().map(|link| link.to.clone()).collect();
        names.sort();
        names
    }

    fn until_neighbours(&self, node: usize, names: &[&str]) {
        until(&format!("the neighbours of node {node} are {names:?}"), || self.neighbours(node) == names);
    }

    /// Takes and gives back, at a node; the token goes there.
    fn locks(&self, node: usize) {
        let ran = self.world.run(node, &["lock", "gate", "-w", "30s", "--", "echo", "held"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "held\n"), "at node {node}: {}", ran.err);
    }
}

#[test]
fn nodes_without_configuration_find_each_other_and_share_a_lock() {
    let Some(mut wired) = Wired::new("find", &[("hall", &["ann", "bob"])]) else { return };
    wired.begin(&[0, 1]);
    wired.until_neighbours(0, &["bob"]);
    wired.until_neighbours(1, &["ann"]);
    wired.locks(0);
    let mut holder = wired.world.go(1, &["lock", "gate"]);
    assert!(holder.line().starts_with("gate granted"));
    assert_eq!(wired.world.run(0, &["lock", "--try", "gate", "--", "true"]).code, Some(124));
    assert_eq!(holder.end_by(Signal::TERM).code, Some(0));
    wired.locks(0);
}

#[test]
fn where_the_token_is_work_goes_on_and_the_others_are_served_after_the_cut() {
    let Some(mut wired) = Wired::new("cut", &[("hall", &["ann", "bob", "cy"])]) else { return };
    wired.begin(&[0, 1, 2]);
    wired.until_neighbours(0, &["bob", "cy"]);
    wired.until_neighbours(1, &["ann", "cy"]);
    for node in [0, 1, 2, 0] {
        wired.locks(node);
    }

    wired.network.unplug("cy");
    wired.until_neighbours(0, &["bob"]);
    wired.until_neighbours(2, &[]);
    let mut alone = wired.world.go(2, &["lock", "gate"]);
    wired.world.until_counts(2, "gate", 0, 1);
    for node in [1, 0, 1] {
        wired.locks(node);
    }
    wired.world.until_counts(2, "gate", 0, 1);

    wired.network.plug("cy");
    assert!(alone.line().starts_with("gate granted"), "served as soon as there is a way");
    wired.world.until_counts(0, "gate", 1, 0);
    alone.send(Signal::TERM);
    assert_eq!(alone.end().code, Some(0));
    wired.locks(1);
}

#[test]
fn a_member_that_was_removed_loses_its_links_and_gets_nothing() {
    let Some(mut wired) = Wired::new("remove", &[("hall", &["ann", "bob", "cy"])]) else { return };
    wired.begin(&[0, 1, 2]);
    wired.until_neighbours(2, &["ann", "bob"]);
    // The token is in the very node that is removed.
    for node in [0, 1, 2] {
        wired.locks(node);
    }
    let dir = wired.world.dir(0).to_owned();
    wired.world.mesh(&dir, &["remove", "cy"]);
    wired.until_neighbours(0, &["bob"]);
    wired.until_neighbours(1, &["ann"]);
    assert_eq!(wired.world.ended(2), Some(77), "{}", wired.world.log(2));
    for node in [1, 0] {
        wired.locks(node);
    }
    // Another start does not help it.
    let again = wired.world.fails_to_start(2);
    assert!(again.code == Some(77) && again.err.contains("removed from mesh"), "{}", again.err);
    assert_eq!(wired.neighbours(0), ["bob"]);
}

#[test]
fn another_mesh_on_the_same_wire_stays_apart() {
    let Some(mut wired) = Wired::new("apart", &[("hall", &["ann", "bob"]), ("yard", &["eve", "fay"])]) else { return };
    wired.begin(&[0, 2, 1, 3]);
    for (node, neighbour) in [(0, "bob"), (1, "ann"), (2, "fay"), (3, "eve")] {
        wired.until_neighbours(node, &[neighbour]);
    }
    // The same name is another lock in another mesh.
    let mut ours = wired.world.go(0, &["lock", "gate"]);
    let mut theirs = wired.world.go(3, &["lock", "gate"]);
    assert!(ours.line().starts_with("gate granted") && theirs.line().starts_with("gate granted"));
    assert_eq!(wired.world.status(0, None).nodes.len(), 2);
    assert_eq!((ours.end_by(Signal::TERM).code, theirs.end_by(Signal::TERM).code), (Some(0), Some(0)));
    for (node, neighbour) in [(0, "bob"), (3, "eve")] {
        assert_eq!(wired.neighbours(node), [neighbour]);
    }
}
