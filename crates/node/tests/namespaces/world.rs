//! A small network of network namespaces: nodes on a bridge, which is an Ethernet switch, as if each were a machine.

use std::process::Command;

/// The namespaces of one test. They are gone when it is.
pub(crate) struct World {
    prefix: String,
    namespaces: Vec<String>,
}

impl World {
    /// A bridge and a namespace for each node, `10.77.0.1` and so on. Nothing where that is not allowed.
    pub(crate) fn new(case: &str, nodes: &[&str]) -> Option<Self> {
        let prefix = format!("ml{}-{case}", std::process::id());
        let mut world = Self { prefix, namespaces: Vec::new() };
        if let Err(error) = world.add("hub").and_then(|()| world.build(nodes)) {
            println!("skipped: needs root and network namespaces ({})", error.trim());
            return None;
        }
        Some(world)
    }

    fn build(&mut self, nodes: &[&str]) -> Result<(), String> {
        let hub = self.namespace("hub");
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0"])?;
        ip(&["-n", &hub, "link", "set", "bridge", "up"])?;
        for (number, node) in (1..).zip(nodes) {
            self.add(node)?;
            let own = self.namespace(node);
            ip(&["-n", &hub, "link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", &own])?;
            ip(&["-n", &hub, "link", "set", node, "master", "bridge", "up"])?;
            ip(&["-n", &own, "link", "set", "lo", "up"])?;
            ip(&["-n", &own, "link", "set", "eth0", "up"])?;
            self.give(node, number)?;
        }
        Ok(())
    }

    pub(crate) fn namespace(&self, node: &str) -> String {
        format!("{}-{node}", self.prefix)
    }

    fn add(&mut self, node: &str) -> Result<(), String> {
        let name = self.namespace(node);
        ip(&["netns", "add", &name])?;
        self.namespaces.push(name);
        Ok(())
    }

    fn give(&self, node: &str, number: u8) -> Result<(), String> {
        ip(&["-n", &self.namespace(node), "address", "add", &format!("10.77.0.{number}/24"), "dev", "eth0"])
    }

    /// The node loses its address and gets another.
    pub(crate) fn roam(&self, node: &str, number: u8) {
        ip(&["-n", &self.namespace(node), "address", "flush", "dev", "eth0"]).unwrap();
        self.give(node, number).unwrap();
    }

    /// The node loses its IPv4 address; what is left is IPv6 between neighbours, which needs no configuration.
    pub(crate) fn without_ipv4(&self, node: &str) {
        ip(&["-n", &self.namespace(node), "-4", "address", "flush", "dev", "eth0"]).unwrap();
    }

    /// Whether IPv6 is there at all.
    pub(crate) fn has_ipv6(&self, node: &str) -> bool {
        let show = ["-n", &self.namespace(node), "-6", "address", "show", "dev", "eth0"];
        let shown = Command::new("ip").args(show).output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&shown).contains("fe80")
    }

    /// Pulls the plug of a node, at the switch.
    pub(crate) fn unplug(&self, node: &str) {
        ip(&["-n", &self.namespace("hub"), "link", "set", node, "down"]).unwrap();
    }

    /// Puts it back.
    pub(crate) fn plug(&self, node: &str) {
        ip(&["-n", &self.namespace("hub"), "link", "set", node, "up"]).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for name in &self.namespaces {
            // There is nobody to tell.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
}
