//! One model: what is explored, the run that breaks a rule, and what it all means.

use std::io::{self, Write};

use meshlock_check::{Search, Shown, Way};

use meshlock_report::shell::quoted;

use super::describe::describe;
use super::job::{Done, Job, Judgement, expected_text};
use super::table::Look;
use meshlock_cli::output::{labelled, width};
use meshlock_cli::style::{self, styled};
use meshlock_cli::text::{count, fold, memory, several, time};

/// Says what is going to be explored.
pub(super) fn announce(out: &mut impl Write, job: &Job) -> io::Result<()> {
    let about = job.entry.as_ref().map(|entry| format!(": {}", entry.about)).unwrap_or_default();
    writeln!(out, "{}{about}", styled(style::STRONG, &job.name))?;
    for (label, text) in describe(&job.trial) {
        labelled(out, label, &text)?;
    }
    out.flush()
}

pub(super) fn conclude(out: &mut impl Write, done: &Done) -> io::Result<()> {
    writeln!(out)?;
    if let Some(shown) = &done.report.broken {
        run(out, shown)?;
        writeln!(out)?;
    }
    verdict(out, done)?;
    if let Some(shown) = &done.report.broken {
        labelled(out, "found", &shown.what)?;
        if let Some(rule) = shown.rule {
            labelled(out, "rule", &format!("{rule}: {}", rule.words()))?;
        }
    }
    labelled(out, "explored", &explored(done))?;
    if let (Some(entry), Judgement::Surprise | Judgement::CutShort | Judgement::Cancelled) =
        (&done.job.entry, done.judgement)
    {
        labelled(out, "expected", &expected_text(&entry.expected))?;
    }
    if let Some(trace) = &done.trace {
        labelled(out, "trace", trace)?;
        labelled(out, "look", &format!("meshlock view {}", quoted(trace)))?;
    }
    if let Some(replay) = &done.replay {
        labelled(out, "replay", replay)?;
    }
    out.flush()
}

fn verdict(out: &mut impl Write, done: &Done) -> io::Result<()> {
    let look = Look::of(done);
    let found = done.found();
    let (mark, text) = match (&done.report.broken, done.judgement) {
        (Some(shown), judgement) => {
            let known = match judgement {
                Judgement::AsExpected => ", as expected",
                Judgement::Surprise => ", which is not what was expected",
                Judgement::Holds | Judgement::Broken | Judgement::CutShort | Judgement::Cancelled => "",
            };
            let breadth_first = matches!(done.job.trial.way, Way::Explore { search: Search::BreadthFirst, .. });
            let run = match shown.cycle {
                Some(steps) => format!("; the last {} repeat forever", several(steps as u64, "step")),
                None if breadth_first => "; no shorter run breaks it".to_owned(),
                None => String::new(),
            };
            ("✗", format!("{found}{known}{run}"))
        }
        (None, Judgement::CutShort | Judgement::Cancelled) if done.report.progress.broken_at.is_some() => {
            let steps = done.report.progress.broken_at.unwrap_or_default();
            (
                "✗",
                format!(
                    "{found}; a rule is broken in {}, the run to it was not found yet",
                    several(steps.into(), "step")
                ),
            )
        }
        (None, Judgement::CutShort | Judgement::Cancelled) => {
            (look.mark, format!("{found}; no rule is broken so far, but not everything was looked at"))
        }
        (None, Judgement::Surprise) => (look.mark, format!("{}: not as expected", done.found_exactly())),
        (None, Judgement::AsExpected | Judgement::Holds | Judgement::Broken) => match done.job.trial.way {
            Way::Explore { .. } => (look.mark, format!("{found}: no rule is broken in any state")),
            Way::Walk { .. } => (look.mark, format!("{found}: no rule is broken in any walk")),
        },
    };
    let style = look.verdict_style;
    writeln!(out, "{} {}", styled(style, mark), styled(style, text))
}

fn explored(done: &Done) -> String {
    let progress = done.report.progress;
    match done.report.walked {
        None => format!(
            "{}, {} unique, depth {}, {}, {}",
            several(progress.generated, "state"),
            count(progress.unique),
            progress.depth,
            time(progress.elapsed),
            memory(progress.bytes),
        ),
        Some(counts) => format!(
            "{}, {}, {}, {}, {}, {}",
            several(counts.walks, "whole walk"),
            several(counts.steps, "step"),
            several(counts.deliveries, "message"),
            several(counts.grants, "grant"),
            several(counts.link_changes, "link change"),
            time(progress.elapsed),
        ),
    }
}

/// The numbered run: what happens stands out, and what messages carry steps back.
fn run(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let width = width();
    for line in shown.text.lines() {
        let (style, indent) = match line.strip_prefix("        ") {
            None => (style::STRONG, 6),
            Some(effect) if effect.contains("-> ") => (style::Style::new(), 11),
            Some(_) => (style::FAINT, 10),
        };
        let mut inside = 0;
        for part in fold(line, width, indent) {
            writeln!(out, "{}", dim_brackets(&part, style, &mut inside))?;
        }
    }
    Ok(())
}

/// A part of a line with everything in square brackets dimmed. `depth` is how many are open before and after it.
fn dim_brackets(part: &str, style: style::Style, depth: &mut usize) -> String {
    let mut text = String::new();
    let mut piece = String::new();
    let mut end_piece = |piece: &mut String, dim: bool| {
        let piece = std::mem::take(piece);
        if !piece.is_empty() {
            let style = if dim { style::FAINT } else { style };
            text.push_str(&styled(style, piece).to_string());
        }
    };
    for c in part.chars() {
        if c == '[' {
            if *depth == 0 {
                end_piece(&mut piece, false);
            }
            *depth += 1;
        }
        piece.push(c);
        if c == ']' && *depth > 0 {
            *depth -= 1;
            if *depth == 0 {
                end_piece(&mut piece, true);
            }
        }
    }
    end_piece(&mut piece, *depth > 0);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_brackets_is_dimmed_also_when_the_line_is_folded() {
        let plain = style::Style::new();
        let mut depth = 0;
        let faint = |text| styled(style::FAINT, text).to_string();
        let first = dim_brackets("-> ask [a: [1],", plain, &mut depth);
        assert_eq!(first, format!("-> ask {}", faint("[a: [1],")));
        let second = dim_brackets("b: 2] to 1", plain, &mut depth);
        assert_eq!(second, format!("{} to 1", faint("b: 2]")));
        assert_eq!(depth, 0);
    }
}
