fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for e in meshlock_check::suite::standard() {
        if !want.is_empty() && !want.iter().any(|w| e.name.starts_with(w.as_str())) {
            continue;
        }
        let limits = meshlock_check::Limits {
            states: Some(12_000_000),
            time: Some(std::time::Duration::from_secs(100)),
            ..Default::default()
        };
        let r = e.run(&limits, &mut meshlock_check::Silent);
        match r {
            Err(x) => println!("{:40} ERROR {x}", e.name),
            Ok(r) => {
                let pin = match (&r.broken, r.walked) {
                    (Some(b), _) => b.steps as u64,
                    (None, Some(w)) => w.grants,
                    (None, None) => r.progress.unique,
                };
                println!(
                    "{} {} {} {:?} {}",
                    e.name,
                    if e.is_met_by(&r) { "ok " } else { "BAD" },
                    pin,
                    r.progress.elapsed,
                    r.verdict
                );
            }
        }
    }
}
