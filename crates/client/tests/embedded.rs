//! A client whose node is in the same process.

mod suite;

use std::sync::Arc;

use meshlock::Client;
use suite::{World, all_stories, hub};

async fn world() -> World {
    let hub = hub();
    World { client: Client::embedded(Arc::clone(&hub)), hub }
}

all_stories!(world);
