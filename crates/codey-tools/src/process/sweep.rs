//! Finding processes by what they carry.

use nix::unistd::Pid;

use super::Background;

/// How many of the command's processes still run: those in the group `leader` and those that carry `mark`.
pub(super) async fn count(leader: Pid, mark: String) -> Background {
    imp::count(leader, mark).await
}

/// Processes that carry one of `marks`; none where this system does not show environments.
pub(super) async fn marked(marks: Vec<String>) -> Vec<Pid> {
    strays(marks, Vec::new()).await
}

/// Of those, the ones that are in none of `groups`.
pub(super) async fn strays(marks: Vec<String>, groups: Vec<Pid>) -> Vec<Pid> {
    imp::strays(marks, groups).await
}

/// Kills all that carry one of `marks`, until none is left.
pub(super) async fn kill_marked(marks: Vec<String>) {
    // A process can start others while it is looked for; each round finds what the one before left.
    for _ in 0..10 {
        let found = marked(marks.clone()).await;
        if found.is_empty() {
            return;
        }
        for pid in found {
            // It may have ended by itself since.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::ffi::OsStr;
    use std::path::Path;

    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    use nix::unistd::Pid;

    use super::super::environment::MARK;
    use crate::process::Background;

    pub(super) async fn count(leader: Pid, mark: String) -> Background {
        let found = scan(move |process| {
            process.is_alive() && (process.is_in_group(leader) || process.carries(std::slice::from_ref(&mark)))
        });
        match found.await.len() {
            0 => Background::Nothing,
            count => Background::Processes(Some(count)),
        }
    }

    pub(super) async fn strays(marks: Vec<String>, groups: Vec<Pid>) -> Vec<Pid> {
        let is_in_one = move |process: &Process<'_>| groups.iter().any(|group| process.is_in_group(*group));
        scan(move |process| process.carries(&marks) && process.is_alive() && !is_in_one(process)).await
    }

    async fn scan(is_wanted: impl Fn(&Process<'_>) -> bool + Send + 'static) -> Vec<Pid> {
        let look = move || {
            let Ok(proc) = Dir::open_ambient_dir("/proc", ambient_authority()) else { return Vec::new() };
            let Ok(entries) = proc.entries() else { return Vec::new() };
            let names = entries.flatten().map(|entry| entry.file_name());
            let pids = names.filter_map(|name| name.to_str()?.parse().ok().map(|pid| (name, pid)));
            pids.filter(|(name, _)| is_wanted(&Process { proc: &proc, name }))
                .map(|(_, pid)| Pid::from_raw(pid))
                .collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    struct Process<'a> {
        proc: &'a Dir,
        name: &'a OsStr,
    }

    impl Process<'_> {
        /// Whether the mark in its environment names one of `marks`; false if its environment is not ours to see.
        fn carries(&self, marks: &[String]) -> bool {
            let Ok(environment) = self.proc.read(Path::new(self.name).join("environ")) else { return false };
            environment.split(|byte| *byte == 0).any(|variable| {
                let value = variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
                // A Codey inside Codey appends its own; what it runs is also ours.
                value.is_some_and(|value| {
                    value.split(|byte| *byte == b':').any(|one| marks.iter().any(|mark| mark.as_bytes() == one))
                })
            })
        }

        fn is_in_group(&self, leader: Pid) -> bool {
            self.stat(|_, group| group == leader.as_raw()).unwrap_or(false)
        }

        /// Ended processes stay listed until their parent takes note.
        fn is_alive(&self) -> bool {
            self.stat(|state, _| !matches!(state, "Z" | "X")).unwrap_or(false)
        }

        fn stat<T>(&self, see: impl FnOnce(&str, i32) -> T) -> Option<T> {
            let text = self.proc.read(Path::new(self.name).join("stat")).ok()?;
            let text = String::from_utf8_lossy(&text);
            // The name in brackets may hold anything, also brackets and blanks.
            let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
            let state = fields.next()?;
            let group = fields.nth(1)?.parse().ok()?;
            Some(see(state, group))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use nix::unistd::Pid;

    use crate::process::Background;

    pub(super) async fn count(leader: Pid, _mark: String) -> Background {
        match nix::sys::signal::killpg(leader, None) {
            Ok(()) => Background::Processes(None),
            Err(_) => Background::Nothing,
        }
    }

    pub(super) async fn strays(_marks: Vec<String>, _groups: Vec<Pid>) -> Vec<Pid> {
        Vec::new()
    }
}
