use super::*;

fn resolve(text: &str) -> Result<NodeConfig, Problems> {
    NodeConfig::resolve(Settings::from_toml("meshlock.toml", text).unwrap(), Path::new("mesh"))
}

/// With an environment of its own, whatever that of the test is.
fn load(flags: Settings, config: Option<&Path>) -> Result<NodeConfig, Problems> {
    NodeConfig::load_from(flags, |name| (name == "MESHLOCK_STOP_WITHIN").then(|| "7s".to_owned()), config)
}

#[test]
fn nothing_needs_to_be_said() {
    let config = resolve("").unwrap();
    assert_eq!(config.dir, Path::new("mesh"));
    assert_eq!(config.listen.iter().map(ToString::to_string).collect::<Vec<_>>(), ["[::]:7411", "0.0.0.0:7411"]);
    assert_eq!(config.loss_after, Duration::from_millis(2_500));
    assert_eq!(config.check(), Problems::default());
}

#[test]
fn all_problems_are_told_at_once_each_with_its_fix() {
    let text = r#"
        [mesh]
        name = "Main Hall"
        [node]
        listen = "everywhere"
        peers = ["gate", "10.0.0.1:7411", "fe80::1:7411", "x:0", ":1"]
        loss-after = "10ms"
        discovery-interval = "2m"
        stop-within = "1h"
        log = ""
        threads = 0
        [api]
        tcp = "127.0.0.1:1"
        max-clients = 0
        socket-group = ""
        [resources.dock]
        kind = "semaphore"
        [resources."a b"]
    "#;
    let problems = resolve(text).expect_err("wrong").0;
    let expected = [
        ("node.listen", "[::1]:7411"),
        ("resources.a b", "cannot have ' '"),
        ("resources.dock", "needs a capacity"),
        ("mesh.name", "\"main-hall\" would do"),
        ("node.peers", "write \"gate:7411\""),
        ("node.peers", "in brackets"),
        ("node.peers", "\"x:0\""),
        ("node.peers", "\":1\""),
        ("node.discovery-interval", "2m is out of range: give 100ms to 1m"),
        ("node.loss-after", "10ms is out of range"),
        ("node.stop-within", "up to 10m"),
        ("node.threads", "give 1 to 64"),
        ("node.log", "\"off\""),
        ("api.socket-group", "leave it out"),
        ("api.tcp", "token-file"),
        ("api.max-clients", "at least 1"),
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, (key, fix)) in problems.iter().zip(expected) {
        assert!(problem.starts_with(key) && problem.contains(fix), "{problem}");
    }
}

#[test]
fn flags_are_above_the_environment_and_that_is_above_the_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("other.toml");
    fs::write(
        &path,
        "[node]\nlog = \"debug\"\ndiscovery = false\nstop-within = \"1s\"\n[api]\ntoken-file = \"token\"\n",
    )
    .unwrap();
    let flags = Settings::from_toml("flags", "[node]\nlog = \"warn\"").unwrap();
    let config = load(flags.clone(), Some(&path)).unwrap();
    assert_eq!((config.log.as_str(), config.discovery), ("warn", false));
    assert_eq!(config.stop_within, Duration::from_secs(7));
    assert_eq!(config.token_file, Some(place.path().join("token")), "meant from where the file is");
    let missing = load(flags, Some(&place.path().join("none.toml"))).expect_err("missing");
    assert!(missing.to_string().contains("none.toml"), "{missing}");
}

#[test]
fn the_file_of_the_directory_is_read_and_may_be_missing() {
    let place = tempfile::tempdir().unwrap();
    let mut flags = Settings::default();
    flags.node.dir = Some(place.path().to_owned());
    assert_eq!(load(flags.clone(), None).unwrap().log, "info");
    fs::write(place.path().join(CONFIG_FILE), "[node]\nlog = \"trace\"\n").unwrap();
    assert_eq!(load(flags, None).unwrap().log, "trace");
}
