//! A client whose node is in the same process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod suite;

use std::sync::Arc;

use meshlock::Client;
use suite::{World, all_stories, hub};

async fn world() -> World {
    let hub = hub();
    World { client: Client::embedded(Arc::clone(&hub)), hub }
}

all_stories!(world);
