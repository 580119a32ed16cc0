//! Commands die with the process that started them, also when it is killed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::Fixture;

#[test]
fn bash_05_a_killed_codey_leaves_no_command_behind() {
    let fixture = Fixture::new(&[]);
    let program = std::env::current_exe().unwrap();
    let mut codey = Command::new(program)
        .args(["--exact", "watchdog::run_for_ever", "--ignored"])
        .env("CODEY_TEST_ROOT", fixture.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pids: Vec<String> = wait_for(|| {
        let text = std::fs::read_to_string(fixture.path("pids")).unwrap_or_default();
        let pids: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
        (pids.len() == 4).then_some(pids)
    });
    assert!(pids.iter().all(|pid| is_alive(pid)));
    codey.kill().unwrap();
    codey.wait().unwrap();
    wait_for(|| pids.iter().all(|pid| !is_alive(pid)).then_some(()));
}

/// The other half: a foreground command, its child, one that went to the background earlier, and one that left its group.
#[tokio::test]
#[ignore = "runs in a process that is killed"]
async fn run_for_ever() {
    let mut fixture = Fixture::new(&[]);
    let root = std::path::PathBuf::from(std::env::var_os("CODEY_TEST_ROOT").unwrap());
    fixture.workspace = crate::fixture::open(&root, "");
    // Registered and released before, so that the table is not just a list that grows.
    fixture.text("bash", json!({"command": "true"})).await;
    fixture.text("bash", json!({"command": "sleep 1000 & echo $! >> pids"})).await;
    fixture.text("bash", json!({"command": "setsid sleep 1000 & echo $! >> pids"})).await;
    fixture.text("bash", json!({"command": "sleep 1000 & echo $! $$ >> pids; wait"})).await;
}

fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z')
}

fn wait_for<T>(look: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}
