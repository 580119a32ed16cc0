//! Tasks as Harbor folders and back.

use std::fs;
use std::path::{Path, PathBuf};

use codey_eval::harbor::{export, import};
use codey_eval::{Task, load_suite, prove};

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/tasks")
}

fn task(tasks: &Path, name: &str) -> Task {
    load_suite(tasks, &[name.to_owned()]).unwrap().remove(0)
}

/// Exports a task, imports it again, and proves that it tells right from wrong in the same cases as before.
async fn check_round_trip(name: &str) {
    let place = tempfile::tempdir().unwrap();
    let original = task(&suite(), name);
    let (harbor, tasks) = (place.path().join("harbor").join(name), place.path().join("tasks"));
    export(&original, &harbor).await.unwrap();
    import(&harbor, &tasks).unwrap();
    let copy = task(&tasks, name);
    assert_eq!(copy.prompt, original.prompt);
    assert_eq!(format!("{:?}", copy.spec), format!("{:?}", original.spec));
    let proofs = prove(&copy, &place.path().join("proof")).await;
    let problems: Vec<_> = proofs.iter().filter(|proof| proof.problem.is_some()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(proofs.len(), 3 + original.near_misses().len(), "{proofs:#?}");
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// Exports a task whose program is content with everything, and takes its rules from the copy: only `tests/test.sh` is
/// left to enforce them.
async fn check_rule(rule: &str, right: &str, wrong: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let (ours, harbor, tasks) =
        (place.path().join("ours"), place.path().join("harbor/one"), place.path().join("tasks"));
    let files = [
        ("one/prompt.txt", "-"),
        ("one/setup.sh", ""),
        ("one/verify.sh", "echo changed >other.txt"),
        ("one/task.toml", rule),
        ("one/repo/a.txt", "a\n"),
        ("one/repo/.gitignore", "*.log\n"),
        ("one/solution/solution.sh", right),
    ];
    write(&ours, &files);
    for (index, wrong) in wrong.iter().enumerate() {
        write(&ours, &[(&format!("one/near_miss/{index}.sh"), wrong)]);
    }
    export(&task(&ours, "one"), &harbor).await.unwrap();
    write(&harbor, &[("task.toml", "")]);
    import(&harbor, &tasks).unwrap();
    let proofs = prove(&task(&tasks, "one"), &place.path().join("proof")).await;
    let problems: Vec<_> = proofs.into_iter().filter_map(|proof| Some((proof.case, proof.problem?))).collect();
    assert_eq!(problems, [("untouched".to_owned(), "it passes, and must not".to_owned())]);
}

/// A Harbor task without a container's needs; `change` spoils it.
fn check_import(change: impl Fn(&Path), expected: Result<&[(&str, &str)], &str>) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("Count_Lines");
    let files = [
        ("task.toml", "schema_version = \"1.4\"\n[metadata]\ncategory = \"shell\"\n[agent]\ntimeout_sec = 90.0\n"),
        ("instruction.md", "<!-- canary 1 -->\n\nWrite the number of lines of /app/in/a.txt to /app/out.\n"),
        ("environment/Dockerfile", "FROM debian\nWORKDIR /app\nCOPY a.txt in/\n"),
        ("environment/a.txt", "one\ntwo\n"),
        ("tests/test.sh", "grep -qx 2 /app/out; echo $((1 - $?)) >/logs/verifier/reward.txt\n"),
        ("solution/solve.sh", "wc -l </app/in/a.txt >/app/out\n"),
    ];
    write(&folder, &files);
    change(&folder);
    let tasks = place.path().join("tasks");
    let imported = import(&folder, &tasks).map_err(|error| format!("{error:#}"));
    match expected {
        Err(why) => {
            assert_eq!(imported.unwrap_err(), why);
            assert!(!tasks.join("count-lines").exists());
        }
        Ok(files) => {
            let task = imported.unwrap();
            for (path, text) in files {
                assert_eq!(fs::read_to_string(task.join(path)).unwrap(), *text);
            }
        }
    }
}

#[tokio::test]
async fn a_task_with_protected_files_survives_the_round_trip() {
    check_round_trip("single-file-edit").await;
}

#[tokio::test]
async fn a_task_that_judges_the_answer_and_allows_no_change_survives_the_round_trip() {
    check_round_trip("no-change-needed").await;
}

#[tokio::test]
async fn a_task_about_ignored_files_survives_the_round_trip() {
    check_round_trip("anti-destruction").await;
}

#[tokio::test]
async fn an_export_protects_files_by_itself() {
    check_rule("must_survive = [\"a.txt\"]", "touch b.txt", &["echo b >a.txt", "rm a.txt"]).await;
}

#[tokio::test]
async fn an_export_refuses_changes_by_itself() {
    let right = "mkdir .codey && touch .codey/note build.log";
    let wrong = ["touch b.txt", "rm a.txt", "chmod +x a.txt", "echo '*.txt' >.gitignore && touch b.txt"];
    check_rule("expect_no_changes = true", right, &wrong).await;
}

#[tokio::test]
async fn the_image_holds_neither_the_checker_nor_the_solution() {
    let place = tempfile::tempdir().unwrap();
    let harbor = place.path().join("task");
    let original = task(&suite(), "single-file-edit");
    export(&original, &harbor).await.unwrap();
    let mut names: Vec<_> = fs::read_dir(harbor.join("environment/workspace"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".gitignore", "README.md", "config", "gateway", "tests"]);
}

#[tokio::test]
async fn a_foreign_task_can_be_proved() {
    let place = tempfile::tempdir().unwrap();
    check_import(
        |folder| {
            import(folder, &place.path().join("tasks")).unwrap();
        },
        Ok(&[
            ("prompt.txt", "Write the number of lines of in/a.txt to out.\n"),
            ("task.toml", "category = \"shell\"\ntimeout = \"90s\"\n"),
            ("repo/in/a.txt", "one\ntwo\n"),
        ]),
    );
    let task = task(&place.path().join("tasks"), "count-lines");
    let proofs = prove(&task, &place.path().join("proof")).await;
    let problems = proofs.into_iter().filter_map(|proof| Some((proof.case, proof.problem?))).collect::<Vec<_>>();
    assert_eq!(problems, [("near_miss".to_owned(), "there is none".to_owned())]);
}

#[test]
fn what_needs_a_container_is_refused_with_the_reason() {
    let append = |path: &'static str, text: &'static str| {
        move |folder: &Path| {
            let old = fs::read_to_string(folder.join(path)).unwrap();
            fs::write(folder.join(path), old + text).unwrap();
        }
    };
    check_import(
        append("tests/test.sh", "apt-get install -y curl\n"),
        Err("tests/test.sh would install or download something on this machine: `apt-get install -y curl`"),
    );
    check_import(append("task.toml", "[[steps]]\nname = \"a\"\n"), Err("it has steps, and a task has one prompt"));
    check_import(
        append("task.toml", "[environment]\ndocker_image = \"a\"\n"),
        Err("[environment] docker_image needs its container"),
    );
    check_import(
        append("environment/Dockerfile", "RUN make\n"),
        Err("environment/Dockerfile: `RUN make`: `make` may make anything; only package installs can be left out"),
    );
    check_import(
        |folder| fs::write(folder.join("solution/key"), b"\xff\0").unwrap(),
        Err("solution/key is no text, and a solution is one script here"),
    );
}
