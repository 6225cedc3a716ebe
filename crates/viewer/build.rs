//! Lists the files of the page for `src/assets.rs`, which builds them into the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/app");
    let mut list = String::from("&[\n");
    for path in files(&app)? {
        let name = path.strip_prefix(&app).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
        // Types are for the editor alone.
        if !name.ends_with(".d.ts") {
            writeln!(list, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
        }
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("page.rs"), list)?;
    println!("cargo:rerun-if-changed=page/app");
    Ok(())
}

/// All files below a folder, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}
