//! How long an uncontended acquire takes when the node is in this process.

use std::time::Instant;

use meshlock::Client;
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Settings};

const ROUNDS: u32 = 200_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), meshlock::Error> {
    let settings = Settings::founder("speed", "here");
    let (hub, _) = Hub::new(Machine::new(settings));
    tokio::spawn(hub.clone().keep_time());
    let client = Client::embedded(hub);
    drop(client.lock("dock").await?);

    let (mut acquire, mut release) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let guard = client.lock("dock").await?;
        let held = Instant::now();
        drop(guard);
        acquire.push(held - start);
        release.push(held.elapsed());
    }
    for (what, mut times) in [("acquire", acquire), ("release", release)] {
        times.sort_unstable();
        let at = |share: f64| times[(f64::from(ROUNDS - 1) * share) as usize];
        println!("{what}: median {:?}, 99% {:?}, 99.9% {:?}", at(0.5), at(0.99), at(0.999));
    }
    Ok(())
}
