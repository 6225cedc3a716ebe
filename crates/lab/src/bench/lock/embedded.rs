//! Acquire and release in the process of the node, with the token there.

use std::time::Instant;

use tokio::task::coop::consume_budget;

use super::Plan;
use super::bed::{Bed, RESOURCE};
use super::figures::{Report, Samples};

/// What nobody should notice.
const GOAL_US: f64 = 2.0;

/// Measures both apart and together.
pub(super) async fn measure(plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    let bed = Bed::start(plan, "line:1", false).await?;
    let client = bed.embedded(0)?;
    let (mut both, mut acquire, mut release) =
        (Samples::within(plan.time), Samples::within(plan.time), Samples::within(plan.time));
    while both.go_on() {
        let begin = Instant::now();
        let guard = client.lock(RESOURCE).await?;
        let held = Instant::now();
        drop(guard);
        let end = Instant::now();
        acquire.add(held - begin);
        release.add(end - held);
        both.add(end - begin);
        consume_budget().await;
    }
    report.add_with_goal("embedded: acquire", acquire, GOAL_US);
    report.add_with_goal("embedded: release", release, GOAL_US);
    report.add("embedded: acquire + release", both);
    bed.stop().await
}
