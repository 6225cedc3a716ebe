fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for e in meshlock_check::suite::standard() {
        if !want.is_empty() && !want.iter().any(|w| e.name.starts_with(w.as_str())) {
            continue;
        }
        let limits = meshlock_check::Limits {
            states: Some(20_000_000),
            time: Some(std::time::Duration::from_secs(120)),
            ..Default::default()
        };
        let r = e.run(&limits, &mut meshlock_check::Silent);
        match r {
            Err(x) => println!("{:40} ERROR {x}", e.name),
            Ok(r) => {
                println!(
                    "{:40} {} unique {:>9} depth {:>3} {:>8.2?} {} {} {:?} {}",
                    e.name,
                    if e.is_met_by(&r) { "ok " } else { "BAD" },
                    r.progress.unique,
                    r.progress.depth,
                    r.progress.elapsed,
                    r.verdict,
                    r.broken.as_ref().map(|b| format!("{} in {} {:?}", b.what, b.steps, b.cycle)).unwrap_or_default(),
                    e.expected,
                    r.walked.map(|w| format!("{w:?}")).unwrap_or_default()
                );
                if std::env::var("T").is_ok() {
                    if let Some(b) = r.broken {
                        println!("{}", b.text);
                    }
                }
            }
        }
    }
}
