//! `meshlock resource`: make, change, remove and list what can be locked.

use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use clap::{Subcommand, ValueEnum};
use meshlock_api::{Kind, NewResource, Order, Policy, Protocol, ResourceChange, ResourceInfo, duration};
use meshlock_report::table::Cell;

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output::{self, table_width, word};

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock resource make gpu --capacity 4
  meshlock resource make farm --capacity 64 --policy backfill
  meshlock resource make charger --slots bay-1,bay-2,bay-3
  meshlock resource make map --kind readers-writer
  meshlock resource make rooms --kind sessions --capacity 8
  meshlock resource make press --by-deadline
  meshlock resource set gpu --capacity 6
  meshlock resource make gpu --capacity 4 --replace
      also if it is something else now; refused while clients use it
  meshlock resource remove gpu
  meshlock resource list";

/// Make, change, remove and list what can be locked.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a resource, for the whole mesh. One that is there with the same definition is left as it is.
    Make(MakeArgs),
    /// Change the capacity of a resource, the lease of requests that name none, or add names of units.
    Set(SetArgs),
    /// Remove a resource that no client holds or waits for.
    ///
    /// Its name can be made again, as something else; fences go on where they ended.
    Remove(RemoveArgs),
    /// List all resources that the node knows.
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
struct MakeArgs {
    /// Its name.
    name: String,
    /// How it is used [default: mutex, or semaphore if a capacity or slots are given].
    #[arg(long)]
    kind: Option<KindName>,
    /// Units in all; the greatest number of holders of one session, or of readers.
    #[arg(long, value_name = "K")]
    capacity: Option<u32>,
    /// Which protocol serves it [default: reverse-link].
    #[arg(long)]
    protocol: Option<Name>,
    /// How many grants of waiting count as one step of priority; 0 is strict [default: 16].
    #[arg(long, value_name = "N")]
    aging: Option<u32>,
    /// The earliest deadline first, instead of priorities.
    #[arg(long, conflicts_with = "aging")]
    by_deadline: bool,
    /// How many may join a running session past one that waits for another.
    #[arg(long, value_name = "N")]
    joins: Option<u32>,
    /// The lease of requests that name none [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    lease: Option<Duration>,
    /// Whether smaller requests may pass one that waits for more units than are free [default: strict].
    #[arg(long)]
    policy: Option<PolicyName>,
    /// The names of a semaphore's units, separated by commas; the capacity is their number.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    slots: Option<Vec<String>>,
    /// Put it in the place of one that is defined otherwise, if no client holds or waits for that.
    #[arg(long)]
    replace: bool,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

#[derive(Debug, clap::Args)]
struct SetArgs {
    /// Its name.
    name: String,
    /// Units in all.
    #[arg(long, value_name = "K")]
    capacity: Option<u32>,
    /// The lease of requests that name none.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    lease: Option<Duration>,
    /// All names of a semaphore's units: those it has, and new ones after them; the capacity becomes their number.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    slots: Option<Vec<String>>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Its name.
    name: String,
    /// Print what was removed as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    /// One holder at a time.
    Mutex,
    /// Several units.
    Semaphore,
    /// Any number of holders of the same session.
    Sessions,
    /// Many readers or one writer.
    ReadersWriter,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    /// None passes the front of the queue.
    Strict,
    /// Up to 16 that fit pass the front until it is granted.
    Backfill,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    /// Every kind.
    ReverseLink,
    /// Mutexes without priorities.
    Flood,
    /// Sessions and readers-writer.
    Group,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Make(args) => {
            let wanted = wanted(args);
            let make = async {
                let client = args.node.connect().await?;
                Ok(if args.replace {
                    client.replace(&args.name, wanted).await?
                } else {
                    client.define(&args.name, wanted).await?
                })
            };
            tell(&block_on(make)?, args.json)?;
        }
        What::Set(args) => {
            let lease_ms = args.lease.map(milliseconds);
            let change = ResourceChange { capacity: args.capacity, lease_ms, slots: args.slots.clone() };
            if change == ResourceChange::default() {
                bail!("nothing to change: give --capacity, --lease or --slots");
            }
            let set = async { Ok(args.node.connect().await?.change_as(&args.name, change).await?) };
            tell(&block_on(set)?, args.json)?;
        }
        What::Remove(args) => {
            let removed = block_on(async { Ok(args.node.connect().await?.remove(&args.name).await?) })?;
            if args.json {
                output::json(&removed)?;
            } else {
                writeln!(anstream::stdout(), "{} is removed from the mesh", removed.name)?;
            }
        }
        What::List(args) => {
            let all = block_on(async { Ok(args.node.connect().await?.resources().await?) })?;
            if args.json {
                output::json(&all)?;
            } else {
                anstream::stdout().write_all(table(&all).as_bytes())?;
            }
        }
    }
    Ok(Exit::Fine)
}

fn wanted(args: &MakeArgs) -> NewResource {
    let kind = args.kind.map(|kind| match kind {
        KindName::Mutex => Kind::Mutex,
        KindName::Semaphore => Kind::Semaphore,
        KindName::Sessions => Kind::Sessions,
        KindName::ReadersWriter => Kind::ReadersWriter,
    });
    let protocol = args.protocol.map(|protocol| match protocol {
        Name::ReverseLink => Protocol::ReverseLink,
        Name::Flood => Protocol::Flood,
        Name::Group => Protocol::Group,
    });
    let by_priority = args.aging.map(|aging| Order::Priority { aging });
    let order = if args.by_deadline { Some(Order::Deadline) } else { by_priority };
    let lease_ms = args.lease.map(milliseconds);
    let policy = args.policy.map(|policy| match policy {
        PolicyName::Strict => Policy::Strict,
        PolicyName::Backfill => Policy::Backfill,
    });
    let (joins, slots) = (args.joins, args.slots.clone());
    NewResource { kind, capacity: args.capacity, protocol, order, joins, lease_ms, slots, policy }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn tell(info: &ResourceInfo, json: bool) -> anyhow::Result<()> {
    if json {
        return output::json(info);
    }
    Ok(anstream::stdout().write_all(table(std::slice::from_ref(info)).as_bytes())?)
}

fn table(all: &[ResourceInfo]) -> String {
    let columns = "resource | kind | capacity# | protocol | order | lease#";
    output::table(columns, all.iter().map(row).collect(), table_width())
}

fn row(info: &ResourceInfo) -> Vec<Cell> {
    let definition = &info.definition;
    let order = match definition.order {
        Order::Priority { aging: 0 } => "priority, strict".to_owned(),
        Order::Priority { aging } => format!("priority, aging {aging}"),
        Order::Deadline => "deadline".to_owned(),
    };
    let order = match definition.policy {
        Policy::Strict => order,
        Policy::Backfill => format!("{order}, backfill"),
    };
    let conflict = if info.conflict.is_some() { " (in conflict with this node's file)" } else { "" };
    let lease = duration::display(Duration::from_millis(definition.lease_ms));
    let cells = [
        format!("{}{conflict}", info.name),
        word(&definition.kind),
        definition.capacity.to_string(),
        word(&definition.protocol),
        order,
        lease,
    ];
    cells.map(Cell::Text).into()
}
