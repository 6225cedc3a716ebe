//! Several resources, all or none: `--and`.

use meshlock_api::State;

use super::world::World;

#[test]
fn the_command_runs_under_all_of_them_and_finds_what_is_its_own() {
    let world = World::new();
    assert_eq!(world.run(&["resource", "make", "lifts", "--capacity", "3"]).code, Some(0));
    let script = "echo $MESHLOCK_NAME / $MESHLOCK_UNITS / $MESHLOCK_SLOTS / $MESHLOCK_HOLDS; \
                  echo $MESHLOCK_FENCES | grep -Ec '^dock-3=[0-9]+ lifts=[0-9]+$'; echo ${MESHLOCK_FENCE-none}";
    let ran = world.run(&["lock", "dock-3", "--and", "lifts=2", "-c", script]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "dock-3 lifts / dock-3=1 lifts=2 / lifts=0,1 / test/dock-3 test/lifts\n1\nnone\n");
    assert!(ran.err.contains("dock-3 is new"), "{}", ran.err);
    assert!(world.requests().is_empty(), "all is given back");

    let script = format!("{} lock lifts -- sh -c 'echo $MESHLOCK_FENCES $MESHLOCK_SLOTS'", crate::PROGRAM);
    let ran = world.run(&["lock", "dock-3", "--and", "dock-4", "-c", &script]);
    let (fences, slots) = ran.out.trim().split_once(' ').expect("two words");
    assert!(fences.starts_with("lifts=") && slots == "0", "not those of the locks around it: {}", ran.out);
}

#[test]
fn several_names_in_a_row_are_told_the_flag_and_take_nothing() {
    let world = World::new();
    for (words, hint) in [
        ("lock dock-3 lift-1 -- true", "meshlock lock dock-3 --and lift-1 -- true"),
        ("lock dock-3 lift-1 --units lift-1=2 -- true", "meshlock lock dock-3 --and lift-1=2 -- true"),
        ("lock --units lift-1=2 dock-3 lift-1 -- true", "--and lift-1=2"),
    ] {
        let ran = world.run(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(125), "{words}: {}", ran.err);
        assert!(ran.err.contains(hint), "{words}: {}", ran.err);
    }
    assert!(world.requests().is_empty());
    // Commands may have a separator of their own, and what is missing is told as always.
    let ran = world.run(&["lock", "dock", "sh", "-c", "echo $1 $2", "--", "--", "fine"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "-- fine\n"), "{}", ran.err);
    assert_eq!(world.run(&["lock", "dock", "--", "no-such-program", "--", "x"]).code, Some(127));
}

#[test]
fn what_is_held_around_it_is_refused_whichever_it_is() {
    let world = World::new();
    for inner in ["lock other --and lift true", "lock lift --and other true", "lock lift true"] {
        let script = format!("{} {inner}", crate::PROGRAM);
        let ran = world.run(&["lock", "dock", "--and", "lift", "-c", &script]);
        assert_eq!(ran.code, Some(125), "{inner}");
        assert!(ran.err.contains("\"lift\" is held already by a program around this one"), "{inner}: {}", ran.err);
    }
}

#[test]
fn a_limit_is_for_all_of_them_and_leaves_nothing_behind() {
    let world = World::new();
    world.taken_by("x", "lift");
    let ran = world.run(&["lock", "dock", "--and", "lift", "-w", "200ms", "--", "true"]);
    assert_eq!(ran.code, Some(124), "{}", ran.err);
    assert!(ran.err.contains("dock + lift"), "{}", ran.err);
    world.until(State::Granted, 1);
    assert_eq!(world.run(&["lock", "dock", "--try", "true"]).code, Some(0));
    for (words, why) in [(&["dock"][..], "named twice"), (&["a b"], "a resource's name cannot have")] {
        let ran = world.run(&[&["lock", "dock", "--and"], words, &["true"]].concat());
        assert!(ran.code != Some(0) && ran.err.contains(why), "{}", ran.err);
    }
}

#[test]
fn the_loss_of_one_stops_the_command() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock", "--and", "lift", "--", "sh", "-c", "echo ready; exec sleep 1000"]);
    assert_eq!(running.line(), "ready");
    world.revoke();
    let ran = running.end();
    assert_eq!(ran.code, Some(123), "{}", ran.err);
    assert!(ran.err.contains("dock + lift is lost"), "{}", ran.err);
}

#[test]
fn the_grant_as_json_has_each_part() {
    let world = World::new();
    let ran = world.run(&["lock", "dock", "--and", "lift", "--json", "--", "true"]);
    let line = ran.err.lines().find(|line| line.starts_with('{')).expect("a line of JSON");
    let told: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(told["resource"], "dock + lift");
    assert!(told["fence"].is_null() && told["parts"][1]["fence"].is_u64(), "{told}");
}
