//! The command line of meshlock.

fn main() {}
