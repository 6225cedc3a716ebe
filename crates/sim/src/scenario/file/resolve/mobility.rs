//! `[mobility]`, and the files it names.

use std::path::{Path, PathBuf};

use super::super::place::{Place, Problem, Source};
use super::super::reader::{Part, Reader};
use crate::distribution::Distribution;
use crate::import::{self, Format};
use crate::scenario::{Area, Mobility, Placement};

/// Recorded movement, and the area it needs; `None` if the movement is not recorded.
pub(super) fn recorded(
    source: &Source,
    reader: &mut Reader<'_>,
    nodes: u32,
) -> Result<Option<(Mobility, Area)>, Problem> {
    let mut part = reader.part("mobility");
    if part.text("model")? != "trace" {
        return Ok(None);
    }
    let format = part.text("format")?;
    let (name, place, bytes) = named_file(source, &mut part)?;
    // BonnMotion keeps what it was asked for beside what came out.
    let params = beside(source, &name).with_extension("params");
    let params =
        std::fs::read_to_string(params).ok().filter(|_| format == "bonnmotion" || name.ends_with(".movements"));
    if let Some(params) = &params {
        part.show("params", shown(params.as_bytes()));
    }
    let read = trace(&name, &bytes, &format, params.as_deref(), nodes);
    read.map(Some).map_err(|(message, help)| Problem::new(&place, message, help))
}

/// How nodes move that are not recorded.
pub(super) fn mobility(source: &Source, reader: &mut Reader<'_>, area: Area, nodes: u32) -> Result<Mobility, Problem> {
    let mut part = reader.part("mobility");
    let model = part.text("model")?;
    Ok(match model.as_str() {
        "linear" => Mobility::Linear { speed: speed(&mut part)? },
        "direction" => Mobility::Direction { speed: speed(&mut part)?, pause: part.get("pause")? },
        "waypoint" => {
            let (slowest, fastest) = match speed(&mut part)? {
                Distribution::Constant(speed) => (speed, speed),
                Distribution::Uniform { low, high } => (low, high),
                Distribution::Exponential { .. } | Distribution::LogNormal { .. } | Distribution::Choice(_) => {
                    let help = "write speed = \"2mps\" or \"uniform(1mps, 5mps)\"";
                    return Err(part.problem("speed", "waypoint needs a constant or uniform speed", help));
                }
            };
            Mobility::Waypoint { slowest, fastest, pause: part.get("pause")? }
        }
        "gauss-markov" => gauss_markov(&mut part)?,
        "walk" => {
            let turn = part.get("turn")?;
            Mobility::Walk { speed: speed(&mut part)?, leg: part.get("leg")?, turn }
        }
        _ => match part.text("placement")?.as_str() {
            "grid" => Mobility::Static(Placement::Grid),
            "file" => {
                let (name, place, bytes) = named_file(source, &mut part)?;
                let places = places(&name, &bytes, area, nodes);
                let places = places.map_err(|(message, help)| Problem::new(&place, message, help))?;
                Mobility::Static(Placement::At(places))
            }
            _ => Mobility::Static(Placement::Random),
        },
    })
}

fn speed(part: &mut Part<'_, '_>) -> Result<Distribution, Problem> {
    part.get_or("speed", "uniform(1mps, 5mps)")
}

fn gauss_markov(part: &mut Part<'_, '_>) -> Result<Mobility, Problem> {
    let Distribution::Constant(speed) = part.get_or("speed", "3mps")? else {
        let help = "write the mean as speed = \"3mps\"; `speed_deviation` says how much it varies";
        return Err(part.problem("speed", "gauss-markov needs one speed, not a distribution", help));
    };
    Ok(Mobility::GaussMarkov {
        step: part.get("step")?,
        memory: part.get("memory")?,
        speed,
        speed_deviation: part.get("speed_deviation")?,
        direction_deviation: part.get("direction_deviation")?,
    })
}

/// What is wrong, and what would be right.
type Trouble = (String, String);

/// Where recorded movement is read: the importers are called here.
fn trace(
    name: &str,
    bytes: &[u8],
    format: &str,
    params: Option<&str>,
    nodes: u32,
) -> Result<(Mobility, Area), Trouble> {
    let known = if format == "auto" { Format::of_file(name) } else { Format::named(format) };
    let Some(known) = known else {
        let names = Format::ALL.map(Format::name).join(", ");
        return Err((format!("the name `{name}` does not tell the format"), format!("add format = one of {names}")));
    };
    let mut imported = import::read(name, bytes, known, params).map_err(|error| {
        let line = if error.line == 0 { String::new() } else { format!(", line {}", error.line) };
        (format!("`{name}`{line}: {}", error.reason), error.help)
    })?;
    enough(name, imported.nodes.len(), nodes)?;
    imported.nodes.truncate(nodes as usize);
    Ok(imported.into_mobility(name.to_owned()))
}

/// A file must know all nodes.
fn enough(name: &str, known: usize, nodes: u32) -> Result<(), Trouble> {
    if known >= nodes as usize {
        return Ok(());
    }
    Err((format!("`{name}` has {known} nodes, but nodes = {nodes}"), format!("write nodes = {known} or less")))
}

/// The file that `file` names: its name, where it is named, and its content.
fn named_file(source: &Source, part: &mut Part<'_, '_>) -> Result<(String, Place, Vec<u8>), Problem> {
    let name = part.text("file")?;
    let path = beside(source, &name);
    let bytes = std::fs::read(&path).map_err(|error| {
        let help = format!("looked for {}", path.display());
        part.problem("file", format!("`{name}` cannot be read: {}", error.kind()), help)
    })?;
    // Not where it lies but what it says decides a run.
    part.show("file", shown(&bytes));
    Ok((name, part.place("file"), bytes))
}

fn beside(source: &Source, name: &str) -> PathBuf {
    Path::new(&source.name).parent().unwrap_or(Path::new("")).join(name)
}

/// The content of a file in the canonical form.
fn shown(bytes: &[u8]) -> String {
    format!("\"{} bytes, {:016x}\"", bytes.len(), content_hash(bytes))
}

/// FNV-1a: tells contents apart that differ by accident; forgery is no concern here.
fn content_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Lines `x,y` in metres. Empty lines, comments with `#` and a first line with names are passed over.
fn places(name: &str, bytes: &[u8], area: Area, nodes: u32) -> Result<Vec<(f64, f64)>, Trouble> {
    let text = String::from_utf8_lossy(bytes);
    let mut places = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<Option<f64>> = line.split(',').map(|field| field.trim().parse().ok()).collect();
        match fields.as_slice() {
            [Some(x), Some(y), ..] if inside(*x, area.width) && inside(*y, area.height) => places.push((*x, *y)),
            [Some(x), Some(y), ..] => {
                let message = format!("`{name}`, line {number}: ({x}, {y}) is outside of the area");
                return Err((message, format!("the area is {} m x {} m", area.width, area.height)));
            }
            _ if number == 1 => {}
            _ => return Err((format!("`{name}`, line {number}: `{line}` is not `x,y`"), "such as 12.5,80".to_owned())),
        }
    }
    enough(name, places.len(), nodes)?;
    places.truncate(nodes as usize);
    Ok(places)
}

fn inside(value: f64, length: f64) -> bool {
    (0.0..=length).contains(&value)
}
