//! The command that runs the same model again: what was typed, without what only concerns output, and without limits
//! that depend on the machine.

use meshlock_report::shell::quoted;

/// The command line without options of output, time and memory.
pub(super) fn command(words: &[String]) -> String {
    let flags = ["--json", "--quiet", "-q", "--no-trace", "--view", "--open"];
    let options = ["--trace", "--traces", "--max-seconds", "--max-memory"];
    join(&without(words, &flags, &options))
}

/// The command for one of the standard models.
pub(super) fn standard(name: &str, no_reduction: bool) -> String {
    format!("meshlock check {name}{}", if no_reduction { " --no-reduction" } else { "" })
}

/// The same command for the one walk with this seed.
pub(super) fn one_walk(command: &str, seed: u64) -> String {
    let words: Vec<String> = command.split(' ').skip(2).map(str::to_owned).collect();
    let kept = without(&words, &[], &["--walks", "--seed"]);
    // The words are quoted already.
    format!("meshlock check {} --walks 1 --seed {seed}", kept.join(" "))
}

/// Without these flags, and without these options and their values.
fn without(words: &[String], flags: &[&str], options: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            words.next();
            continue;
        }
        let is_option = word.split_once('=').is_some_and(|(name, _)| options.contains(&name));
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if !is_option && !flags.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept
}

fn join(words: &[String]) -> String {
    let mut command = String::from("meshlock check");
    for word in words {
        command.push(' ');
        command.push_str(&quoted(word));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn options_of_output_are_left_out() {
        let typed = words("-q flood --trace here --losses 1 --json --traces=there --max-seconds 9 --node 0=-");
        assert_eq!(command(&typed), "meshlock check flood --losses 1 --node 0=-");
        let typed = words("--view flood --open");
        assert_eq!(command(&typed), "meshlock check flood");
        assert_eq!(command(&words("flood --view=127.0.0.1:9")), "meshlock check flood");
    }

    #[test]
    fn a_word_that_a_shell_would_change_is_quoted() {
        let typed = words("reverse-link --demand 1#9 --deadlines --topology edges:0-1,1-2");
        assert_eq!(command(&typed), "meshlock check reverse-link --demand '1#9' --deadlines --topology edges:0-1,1-2");
    }

    #[test]
    fn one_walk_of_many_is_named_by_its_seed() {
        let many = "meshlock check flood --walks 50 --steps 100 --seed=3 --node '2=1#9'";
        assert_eq!(one_walk(many, 17), "meshlock check flood --steps 100 --node '2=1#9' --walks 1 --seed 17");
        assert_eq!(one_walk(&standard("a/b", true), 4), "meshlock check a/b --no-reduction --walks 1 --seed 4");
    }
}
