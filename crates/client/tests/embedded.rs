//! A client whose node is in the same process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod suite;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use meshlock::{Client, Error, Node, NodeBuilder, blocking};
use suite::{World, all_stories, hub};

async fn world() -> World {
    let hub = hub();
    World { client: Client::embedded(Arc::clone(&hub)), hub }
}

all_stories!(world);

fn node(directory: &Path) -> NodeBuilder {
    Node::builder(directory).listen(([127, 0, 0, 1], 0)).discovery(false)
}

#[tokio::test]
async fn nodes_in_programs_found_a_mesh_and_join_it_by_invitation() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let first = node(&a).start().await.unwrap();
    let invitation = first.invite("second", [first.address().to_string()]).unwrap();
    let second = node(&b).invitation(&invitation).start().await.unwrap();
    assert_eq!(second.name(), "second");
    let patient = Duration::from_secs(60);
    let fence = first.client().lock("dock").await.unwrap().fence();
    let guard = second.client().lock("dock").timeout(patient).await.unwrap();
    assert!(guard.fence() > fence);
    guard.release().await.unwrap();
    assert_eq!(second.stop().await.unwrap().kept, Vec::<String>::new(), "its token went to the first");
    first.client().lock("dock").timeout(patient).await.unwrap().release().await.unwrap();

    let again = node(&b).invitation(invitation).start().await.unwrap();
    again.client().lock("dock").timeout(patient).await.unwrap().release().await.unwrap();
    again.stop().await.unwrap();
    first.stop().await.unwrap();
}

#[tokio::test]
async fn a_node_that_cannot_start_says_why() {
    let place = tempfile::tempdir().unwrap();
    node(place.path()).start().await.unwrap().stop().await.unwrap();
    let refused = async |builder: NodeBuilder| match builder.start().await {
        Err(Error::Node(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let other_mesh = refused(node(place.path()).settings("[mesh]\nname = 'yard'")).await;
    assert!(other_mesh.contains("\"local\"") && other_mesh.contains("\"yard\""), "{other_mesh}");
    let typing_error = refused(node(place.path()).settings("[nod]")).await;
    assert!(typing_error.contains("did you mean `node`?"), "{typing_error}");
    let no_invitation = refused(node(&place.path().join("new")).invitation("hello")).await;
    assert!(no_invitation.contains("no invitation"), "{no_invitation}");
}

#[test]
fn a_program_without_async_may_have_a_node_in_itself() {
    let place = tempfile::tempdir().unwrap();
    let node = blocking::Node::start(node(place.path())).unwrap();
    let client = node.client();
    let guard = client.lock("dock").lease(Duration::from_millis(300)).acquire().unwrap();
    let before = guard.expires();
    while guard.expires() == before {
        std::thread::sleep(Duration::from_millis(1)); // it is renewed in the background
    }
    drop(guard);
    assert!(client.query("dock").unwrap().holders.is_empty());
    assert!(node.stop().unwrap().kept.contains(&"dock".to_owned()), "no neighbour could take it");
}
