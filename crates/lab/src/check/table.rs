//! Several models as a table that grows while they run: a section for each protocol and text, a row for each model.

use std::io::{self, Write};
use std::time::Duration;

use meshlock_check::suite::Entry;
use meshlock_check::{Name, Text, Way};

use super::job::{Done, Job, Judgement, expected_text};
use meshlock_cli::style::{self, styled};
use meshlock_cli::text::{count, several, time};

pub(super) struct Table<W> {
    out: W,
    names: usize,
    section: Option<Section>,
}

/// What stands under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    subject: Name,
    printed: bool,
    walks: bool,
}

impl Section {
    fn of(job: &Job) -> Self {
        Self {
            subject: job.trial.spec.subject,
            printed: matches!(job.trial.spec.text, Text::Published { .. }),
            walks: matches!(job.trial.way, Way::Walk { .. }),
        }
    }

    fn title(self) -> String {
        let subject = self.subject;
        match (self.printed, self.walks) {
            (true, false) => format!("{subject} as printed"),
            (true, true) => format!("{subject} as printed, walks"),
            (false, false) if subject.is_baseline() => subject.to_string(),
            (false, false) => format!("{subject} repaired"),
            (false, true) => format!("{subject} walks"),
        }
    }

    const fn columns(self) -> [&'static str; 3] {
        if self.walks { ["steps", "grants", "walks"] } else { ["states", "unique", "depth"] }
    }
}

impl<W: Write> Table<W> {
    pub(super) fn new(out: W, jobs: &[Job]) -> Self {
        // A title may reach into the first column of numbers, whose own title is short.
        let titles = jobs.iter().map(|job| Section::of(job).title().len().saturating_sub(5));
        let names = jobs.iter().map(|job| short_name(job).len());
        Self { out, names: names.chain(titles).max().unwrap_or(0), section: None }
    }

    /// Adds a row, and a heading before it if it needs one.
    pub(super) fn row(&mut self, done: &Done) -> io::Result<()> {
        let section = Section::of(&done.job);
        if self.section.replace(section) != Some(section) {
            self.heading(section)?;
        }
        let look = Look::of(done);
        let progress = done.report.progress;
        let numbers = match done.report.walked {
            None => [progress.generated, progress.unique, progress.depth.into()],
            Some(counts) => [counts.steps, counts.grants, counts.walks],
        };
        let [first, second, third] = numbers.map(count);
        let name = short_name(&done.job);
        writeln!(
            self.out,
            "{} {name:<names$}{first:>11}{second:>10}{third:>7}{:>8}  {}",
            styled(look.mark_style, look.mark),
            time(progress.elapsed),
            styled(look.verdict_style, done.found()),
            names = self.names,
        )?;
        self.details(done)?;
        self.out.flush()
    }

    fn heading(&mut self, section: Section) -> io::Result<()> {
        let [first, second, third] = section.columns();
        let title = section.title();
        let room = (self.names + 13).saturating_sub(title.len());
        let columns = format!("{first:>room$}{second:>10}{third:>7}{:>8}  verdict", "time");
        writeln!(self.out, "\n{}{}", styled(style::STRONG, title), styled(style::FAINT, columns))
    }

    fn details(&mut self, done: &Done) -> io::Result<()> {
        if let (Judgement::Surprise, Some(entry)) = (done.judgement, &done.job.entry) {
            self.detail("expected", format!("{}; found: {}", expected_text(&entry.expected), done.found_exactly()))?;
            if let Some(shown) = &done.report.broken {
                self.detail("that is", &shown.what)?;
            }
            self.detail("look", done.replay.as_ref().unwrap_or(&done.job.command))?;
        }
        match &done.trace {
            Some(trace) => self.detail("trace", trace),
            None => Ok(()),
        }
    }

    fn detail(&mut self, label: &str, text: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.out, "    {} {text}", styled(style::FAINT, format!("{label:<8}")))
    }

    /// Ends the table with one line for all of it.
    pub(super) fn summary(&mut self, all: usize, done: &[Done], total: Duration) -> io::Result<()> {
        let number = |judgement: Judgement| done.iter().filter(|done| done.judgement == judgement).count();
        let surprises = number(Judgement::Surprise);
        let short = number(Judgement::CutShort);
        let stopped = done.iter().any(|done| done.judgement == Judgement::Cancelled) || done.len() < all;
        let mut parts = Vec::new();
        let finished = done.len() - number(Judgement::Cancelled);
        if stopped {
            parts.push(format!("stopped after {} of {}", count(finished as u64), several(all as u64, "model")));
        } else {
            parts.push(several(all as u64, "model"));
        }
        if surprises > 0 {
            let named = done.iter().filter(|done| done.judgement == Judgement::Surprise);
            let names: Vec<&str> = named.map(|done| done.job.name.as_str()).take(NAMED_IN_SUMMARY).collect();
            let more = if surprises > names.len() { ", ..." } else { "" };
            parts.push(format!("{} not as expected ({}{more})", count(surprises as u64), names.join(", ")));
        }
        if short > 0 {
            parts.push(format!("{} ended early by a limit", count(short as u64)));
        }
        if surprises == 0 && finished > short {
            let others = if short > 0 { "the others" } else { "all" };
            parts.push(format!("{others} as expected{}", if stopped { " so far" } else { "" }));
        }
        let (mark, mark_style) = match (surprises, stopped || short > 0) {
            (0, false) => ("✓", style::GOOD),
            (0, true) => ("!", style::PARTIAL),
            (1.., _) => ("✗", style::ALARM),
        };
        writeln!(
            self.out,
            "\n{} {}, {}",
            styled(mark_style, mark),
            styled(style::STRONG, parts.join(", ")),
            time(total)
        )
    }
}

/// So many surprises are named in the summary; all are in the table.
const NAMED_IN_SUMMARY: usize = 3;

pub(super) struct Look {
    pub(super) mark: &'static str,
    pub(super) mark_style: style::Style,
    pub(super) verdict_style: style::Style,
}

impl Look {
    /// Calm if it is as expected, loud if not.
    pub(super) fn of(done: &Done) -> Self {
        let look = |mark, mark_style, verdict_style| Self { mark, mark_style, verdict_style };
        match (done.judgement, &done.report.broken) {
            (Judgement::AsExpected, Some(_)) => look("✓", style::GOOD, style::KNOWN),
            (Judgement::AsExpected | Judgement::Holds, _) => look("✓", style::GOOD, style::GOOD),
            (Judgement::Surprise | Judgement::Broken, _) => look("✗", style::ALARM, style::ALARM),
            (Judgement::CutShort | Judgement::Cancelled, _) => look("!", style::PARTIAL, style::PARTIAL),
        }
    }
}

/// The name without the protocol, which stands in the heading.
fn short_name(job: &Job) -> &str {
    let is_standard = |entry: &Entry| entry.name == job.name;
    match job.name.split_once('/') {
        Some((_, short)) if job.entry.as_ref().is_some_and(is_standard) => short,
        Some(_) | None => &job.name,
    }
}
