//! Makes the fingerprint of all sources that decide what a run measures: the simulator and every crate of ours that it
//! is built from, as its `Cargo.toml` says.
//!
//! A version number that has to be raised by hand is forgotten one day, and then old results mix with new ones. A
//! fingerprint errs on the safe side: a changed comment counts as a change.

#![expect(clippy::disallowed_macros, reason = "this is how a build script talks to cargo")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut fingerprint = Fingerprint(0xcbf2_9ce4_8422_2325);
    let measuring = with_dependencies(&crates, "sim");
    for name in &measuring {
        println!("cargo:rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
        let sources = crates.join(name).join("src");
        // A package from a registry has no neighbours; its version says which sources it was built with.
        let Ok(files) = files(&sources) else { continue };
        println!("cargo:rerun-if-changed={}", sources.display());
        for file in files {
            let Ok(text) = fs::read(&file) else { continue };
            let place = file.strip_prefix(&crates).unwrap_or(&file);
            fingerprint.add(&place.to_string_lossy().replace('\\', "/"));
            // Line ends depend on how the sources were checked out.
            fingerprint.add(&String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=MESHLOCK_SOURCES={:08x}", fingerprint.0 as u32 ^ (fingerprint.0 >> 32) as u32);
    println!("cargo:rustc-env=MESHLOCK_MEASURING={}", measuring.into_iter().collect::<Vec<_>>().join(" "));
}

/// 64-bit FNV-1a: no adversary makes up sources, so nothing stronger has to be built first.
struct Fingerprint(u64);

impl Fingerprint {
    /// Adds a text and a mark of its end.
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A crate of ours and all crates of ours that it is built from, by their folders.
fn with_dependencies(crates: &Path, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap_or_default();
            let dependencies = manifest.split("\n[").find_map(|part| part.strip_prefix("dependencies]\n"));
            let ours = dependencies.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("meshlock-"));
            open.extend(ours.filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::to_owned));
        }
    }
    found
}

/// All Rust files below a directory, in the order of their names.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}
