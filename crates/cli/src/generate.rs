//! `meshlock completions` and `meshlock man`: what packages install beside the program, made of the definitions by which
//! the program parses, so that they cannot disagree.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap_complete::Shell;
use clap_mangen::Man as Page;

use crate::exit::Exit;
use crate::output;

const COMPLETIONS: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock completions bash > /etc/bash_completion.d/meshlock
  meshlock completions zsh > \"${fpath[1]}/_meshlock\"
  meshlock completions fish > ~/.config/fish/completions/meshlock.fish
  source <(meshlock completions bash)      for this shell only";

const PAGES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock man | man -l -                                        read the page of the program
  meshlock man --dir /usr/local/share/man/man1                   write the pages of all commands";

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands.
#[derive(Debug, clap::Args)]
#[command(after_help = PAGES)]
pub struct Man {
    /// Write meshlock.1, meshlock-lock.1 and so on into this directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Replace pages that are there already.
    #[arg(long, requires = "dir")]
    force: bool,
}

/// Completes all that a program understands.
pub fn completions(args: &Completions, definition: &mut clap::Command) -> anyhow::Result<Exit> {
    let name = definition.get_name().to_owned();
    // By way of memory: the generator panics where it cannot write, as into a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, definition, name, &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Fine)
}

/// The pages of all that a program understands.
pub fn man(args: &Man, mut definition: clap::Command) -> anyhow::Result<Exit> {
    definition.build();
    let Some(dir) = &args.dir else {
        let mut out = io::stdout().lock();
        Page::new(definition).render(&mut out)?;
        out.flush()?;
        return Ok(Exit::Fine);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    write(dir, definition, args.force)?;
    Ok(Exit::Fine)
}

/// The page of a command, and those of the commands below it that the help shows.
fn write(dir: &Path, command: clap::Command, force: bool) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        write(dir, below.clone(), force)?;
    }
    // `meshlock mesh init` is described in meshlock-mesh-init.1.
    let page = Page::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    output::write(&dir.join(page.get_filename()), &text, force)
}
