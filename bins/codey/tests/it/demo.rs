//! `codey demo`: needs nothing, and says what it is.

use codey_testkit::TempWorkspace;

use crate::codey::Codey;

#[test]
fn the_demo_fixes_its_test_and_says_that_the_model_is_recorded() {
    let folder = TempWorkspace::new(&[]);
    // Not even settings that would stop it matter.
    let config = "[limits]\nmax_turns = 1\nmax_cost = 1.0\n";
    let codey = Codey::new(folder.path()).config(config).env("GIT_CONFIG_COUNT", "nonsense");
    let ran = codey.args(&["demo", "--keep", "kept"]).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("recorded model") && ran.stdout.contains("all 5 tests pass now"), "{ran:?}");
    assert!(ran.stderr.contains("no_match") && ran.stderr.contains("exit 1"), "{ran:?}");
    let code = std::fs::read_to_string(folder.at("kept/src/duration.sh")).unwrap();
    assert!(code.contains("\tminutes=$((seconds % 3600 / 60))"), "{code}");
}

#[test]
fn its_events_name_the_recording_and_end_with_run_end() {
    let folder = TempWorkspace::new(&[]);
    let ran = Codey::new(folder.path()).args(&["demo", "--mode", "json"]).run();
    let events = ran.events();
    let start = &events[0];
    assert_eq!(
        (&start["type"], &start["endpoint"], &start["model"]),
        (&"session_start".into(), &"recording".into(), &"recorded".into())
    );
    assert_eq!((&events[events.len() - 1]["type"], ran.code), (&"run_end".into(), 0));
    let codes: Vec<_> = ran.of_type("tool_end").iter().map(|event| event["code"].clone()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "no_match").count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| code.is_null()).count(), codes.len() - 1, "{codes:?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "it leaves nothing here");
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let folder = TempWorkspace::new(&[("kept/mine", "")]);
    let ran = Codey::new(folder.path()).args(&["demo", "--keep", "kept"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("it is not empty"), "{ran:?}");
}
