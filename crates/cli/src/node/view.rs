//! The page of one node: what it sees, to look at only.

use std::net::SocketAddr;
use std::sync::Arc;

use meshlock_node::config::{NodeConfig, token};
use meshlock_node::mesh::Identity;
use meshlock_viewer::source::Kind;
use meshlock_viewer::{About, Server, Source, Tape};
use tokio::sync::watch;

use super::tapes::Tapes;
use crate::view;

#[derive(Debug)]
struct OneNode {
    mesh: String,
    name: String,
    tapes: Tapes,
}

/// Serves the page of a node, and says where that is. The word that may be needed is not told: this ends in logs.
pub(super) async fn serve(
    address: SocketAddr,
    config: &NodeConfig,
    identity: &Identity,
    tapes: &Tapes,
) -> anyhow::Result<(Server, String)> {
    let token = config.token_file.as_deref().map(token::read_or_make).transpose()?;
    let node = OneNode { mesh: identity.mesh.clone(), name: identity.name.clone(), tapes: tapes.clone() };
    let (server, _) = view::start(Arc::new(node), view::unless_usual(address), token).await?;
    let page = match &config.token_file {
        Some(file) => format!("http://{}/#token=WORD, with the word in {}", server.address(), file.display()),
        None => format!("http://{}/", server.address()),
    };
    Ok((server, page))
}

impl Source for OneNode {
    fn about(&self) -> About {
        let Self { mesh, name, tapes } = self;
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Kind::Mesh,
            title: format!("{name} of mesh {mesh}"),
            tapes: tapes.names(),
            can: Vec::new(),
            notes: vec![
                format!(
                    "This is what node {name} sees: its own events and its links. Of its neighbours only the names are \
                     known here. To see all nodes, record at each of them (meshlock node --record run.jsonl), put the \
                     recordings together (meshlock trace merge run1.docks.jsonl run2.docks.jsonl -o all.jsonl) and look at \
                     them (meshlock view all.jsonl)."
                ),
                "Nothing can be done here: locks are taken with `meshlock lock` or `meshlock acquire`.".to_owned(),
            ],
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        self.tapes.all()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tapes.changes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_node_says_that_it_is_one_of_many() {
        let node = OneNode { mesh: "hall".into(), name: "n2".into(), tapes: Tapes::new(0) };
        let about = node.about();
        assert_eq!((about.title.as_str(), about.can.len()), ("n2 of mesh hall", 0));
        assert!(about.notes[0].contains("trace merge"), "{:?}", about.notes);
    }
}
