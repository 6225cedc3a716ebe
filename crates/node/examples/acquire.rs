//! How many instructions an uncontended lock takes in the process of its node.
//!
//! ```text
//! cargo build --release -p meshlock-node --example acquire
//! valgrind --tool=callgrind --toggle-collect='*acquire_and_release*' target/release/examples/acquire
//! ```
//!
//! Times of less than a microsecond say little on a busy machine; the count is the same every time.

use std::collections::BTreeSet;

use meshlock_api::NewRequest;
use meshlock_node::hub::Hub;
use meshlock_node::local::{LocalMesh, LocalOptions};

const ROUNDS: u32 = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut options = LocalOptions::new(1, place.path());
    options.serves_clients = false;
    let mesh = LocalMesh::start(&options, &BTreeSet::new()).await.expect("a mesh of one node");
    let hub = mesh.hub(0).expect("its node");
    hub.until_granting(std::time::Duration::from_secs(60)).await.expect("it votes for itself");
    for _ in 0..ROUNDS {
        acquire_and_release(&hub);
    }
    println!("{ROUNDS} locks acquired and released; divide what was collected by that");
}

#[inline(never)]
fn acquire_and_release(hub: &Hub) {
    let asked = NewRequest { resource: "dock".into(), ..NewRequest::default() };
    let (ticket, ..) = hub.ask_briefly(asked).expect("it is not refused");
    hub.with(|machine, now| machine.release(now, ticket));
}
