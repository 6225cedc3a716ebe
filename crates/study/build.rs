//! Makes the fingerprint of all sources that decide what a run measures: the simulator and every crate of ours that it
//! is built from, as its `Cargo.toml` says.
//!
//! A number that somebody must remember to raise is forgotten one day, and then old results are mixed with new ones. A
//! fingerprint is too careful instead: a changed comment counts as a change.

#![expect(clippy::disallowed_macros, reason = "this is how a build script talks to cargo")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut digest = Sha256::new();
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
            digest.update(place.to_string_lossy().replace('\\', "/"));
            digest.update([0]);
            // Line ends depend on how the sources were checked out.
            digest.update(String::from_utf8_lossy(&text).replace("\r\n", "\n"));
            digest.update([0]);
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let fingerprint: String = digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=MESHLOCK_SOURCES={fingerprint}");
    println!("cargo:rustc-env=MESHLOCK_MEASURING={}", measuring.into_iter().collect::<Vec<_>>().join(" "));
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
