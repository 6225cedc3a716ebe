//! A node in a namespace: this very program, started again inside it, told what to do by lines on its standard input.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use meshlock_core::NodeId;
use meshlock_node::links::{Discovery, Transport};
use meshlock_node::mesh::{Identity, Member};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::{Event, GUARD, Node, Plan, stranger};
use crate::world::World;

/// Says who the program is to be.
const ROLE: &str = "MESHLOCK_TEST_ROLE";

/// Marks the lines that are meant for the test.
const MARK: &str = "@ ";

/// The one who started a node, and hears what it says.
pub(crate) struct Player {
    child: Child,
    commands: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What was said while something else was waited for.
    earlier: VecDeque<String>,
    name: String,
}

impl Player {
    /// Starts a node without any address to dial.
    pub(crate) fn node(world: &World, identity: &Identity) -> Self {
        Self::listening(world, identity, "0.0.0.0:0")
    }

    /// The same, listening there.
    pub(crate) fn listening(world: &World, identity: &Identity, listen: &str) -> Self {
        Self::start(world, &identity.name, &format!("{listen} {}", write(identity)))
    }

    /// Starts somebody who knows nothing but an address.
    pub(crate) fn stranger(world: &World, name: &str, address: &str) -> Self {
        Self::start(world, name, &format!("stranger {address}"))
    }

    fn start(world: &World, name: &str, role: &str) -> Self {
        let mut child = Command::new("ip")
            .args(["netns", "exec", &world.namespace(name)])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, line)) = line.split_once(MARK)
                    && said.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        let commands = child.stdin.take();
        Self { child, commands, lines, earlier: VecDeque::new(), name: name.to_owned() }
    }

    /// Waits for a line that begins like this; the rest of it.
    pub(crate) fn says(&mut self, beginning: &str) -> String {
        self.says_within(beginning, GUARD).unwrap_or_else(|| panic!("{} never said {beginning:?}", self.name))
    }

    fn says_within(&mut self, beginning: &str, limit: Duration) -> Option<String> {
        let position = self.earlier.iter().position(|line| line.starts_with(beginning));
        if let Some(line) = position.and_then(|position| self.earlier.remove(position)) {
            return Some(line[beginning.len()..].trim().to_owned());
        }
        let until = Instant::now() + limit;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line.starts_with(beginning) => return Some(line[beginning.len()..].trim().to_owned()),
                Ok(line) => self.earlier.push_back(line),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => panic!("{} has ended; it said {:?}", self.name, self.earlier),
            }
        }
    }

    /// Forgets what was said up to now.
    pub(crate) fn forget(&mut self) {
        self.earlier.clear();
        while self.lines.try_recv().is_ok() {}
    }

    /// Whether it has said something like this up to now.
    pub(crate) fn has_said(&mut self, beginning: &str) -> bool {
        self.earlier.extend(self.lines.try_iter());
        self.earlier.iter().any(|line| line.starts_with(beginning))
    }

    fn command(&mut self, line: &str) {
        writeln!(self.commands.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Speaks until the other hears it.
    pub(crate) fn reaches(&mut self, me: u16, other: &mut Self, number: u16) {
        other.forget();
        let until = Instant::now() + GUARD;
        loop {
            self.command(&format!("say {number}"));
            if other.says_within(&format!("heard {me}"), Duration::from_millis(200)).is_some() {
                return;
            }
            assert!(Instant::now() < until, "{} cannot reach {}", self.name, other.name);
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It ends when nobody is left to tell it anything.
        self.commands = None;
        let _ = self.child.wait();
    }
}

/// The other side of it: what the program does when it is started as a player.
pub(crate) fn play() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match role.strip_prefix("stranger ") {
        Some(address) => runtime.block_on(async {
            let error = stranger::knock(None, "example.org", address.parse().unwrap()).await;
            tell(&format!("refused {}", error.map(|_| ()).unwrap_err()));
        }),
        None => {
            let (listen, identity) = role.split_once(' ').unwrap();
            runtime.block_on(play_node(listen, read(identity)));
        }
    }
}

async fn play_node(listen: &str, identity: Identity) {
    let mut plan = Plan::new(identity, Transport::Quic);
    plan.listen = listen.parse().unwrap();
    plan.loss_after = Duration::from_millis(800);
    plan.discovery = Some(Discovery { interval: Duration::from_millis(200), ..Discovery::default() });
    let mut node = plan.start();
    tell(&format!("listens {}", node.address().port()));
    let (send, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    loop {
        tokio::select! {
            event = node.events.recv() => report(&mut node, event.unwrap()),
            command = commands.recv() => match command {
                Some(command) => {
                    let number: u16 = command.strip_prefix("say ").unwrap().parse().unwrap();
                    if let Some((link, _)) = node.up.get(&Member(number)) {
                        node.send(*link, b"word".as_slice());
                    }
                }
                None => break,
            },
        }
    }
    node.assert_orderly();
}

fn report(node: &mut Node, event: Event) {
    let who = |node: &Node, link| node.up.iter().find(|(_, (open, _))| *open == link).map_or(0, |(member, _)| member.0);
    match event {
        Event::Up(link, peer) => {
            let member = Member::of(NodeId(peer.node.0));
            tell(&format!("up {} {}", member.0, peer.address));
            node.up.insert(member, (link, peer));
        }
        Event::Received(link, _) => tell(&format!("heard {}", who(node, link))),
        Event::Down(link, reason) => {
            let member = who(node, link);
            node.up.remove(&Member(member));
            tell(&format!("down {member} {reason}"));
        }
        Event::Alarm(double) => tell(&format!("alarm {}", double.member.0)),
    }
}

fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    // The beginning of the line may belong to the test program.
    let _ = writeln!(output, "\n{MARK}{line}").and_then(|()| output.flush());
}

/// An identity as one word for the environment.
fn write(identity: &Identity) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    [
        identity.member.0.to_string(),
        identity.name.clone(),
        hex(&identity.certificate),
        hex(identity.key.secret_der()),
        hex(&identity.authority),
        hex(&identity.secret),
    ]
    .join(":")
}

fn read(words: &str) -> Identity {
    let parts: Vec<&str> = words.split(':').collect();
    let bytes = |part: usize| -> Vec<u8> {
        let hex = parts[part].as_bytes().chunks(2);
        hex.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    };
    Identity {
        mesh: "test".to_owned(),
        member: Member(parts[0].parse().unwrap()),
        name: parts[1].to_owned(),
        certificate: CertificateDer::from(bytes(2)),
        key: PrivateKeyDer::try_from(bytes(3)).unwrap(),
        authority: CertificateDer::from(bytes(4)),
        secret: bytes(5).try_into().unwrap(),
    }
}
