//! Harbor's tasks as ours, as far as they need no container.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use toml::{Table, Value};

use super::dockerfile::{self, Image};
use super::{ANSWER, OWN_TABLE};
use crate::workspace::{Tree, copy};

const VERIFY: &str = include_str!("verify.sh");
const SOLUTION: &str = include_str!("solution.sh");
const USE_PATHS_HERE: &str = include_str!("here.sh");
/// Ends a file within `solution.sh`.
const END_OF_FILE: &str = "END_OF_THIS_FILE_OF_THE_SOLUTION";
/// Settings that need the container: where they stand, by section.
const NEED_CONTAINER: [(&str, &[&str]); 3] = [
    ("environment", &["docker_image", "env", "mcp_servers", "healthcheck", "skills_dir", "gpus", "tpu", "workdir"]),
    ("verifier", &["environment", "environment_mode", "collect", "env"]),
    ("solution", &["env"]),
];

/// Reads the Harbor task folder `from` and writes it as a task of ours to a new folder in `tasks`, which it returns.
///
/// Container paths in its scripts are replaced when they run. That is done by their text, so prove the task before it
/// is used.
///
/// # Errors
/// It needs its container, or something that a run here must not do; the message says what.
pub fn import(from: &Path, tasks: &Path) -> Result<PathBuf> {
    let read = |path: &str| fs::read_to_string(from.join(path)).with_context(|| format!("no {path}"));
    let settings: Table = toml::from_str(&read("task.toml")?).context("task.toml")?;
    check_settings(&settings)?;
    ensure!(!from.join("environment/docker-compose.yaml").exists(), "it needs several containers: docker-compose.yaml");
    let image = dockerfile::read(&read("environment/Dockerfile")?).context("environment/Dockerfile")?;
    let instruction = read("instruction.md")?;
    for script in ["tests/test.sh", "solution/solve.sh"].into_iter().filter(|script| from.join(script).exists()) {
        let text = read(script)?;
        if let Some(line) = dockerfile::installs(&text) {
            bail!("{script} would install or download something on this machine: `{line}`");
        }
        ensure!(!text.contains("reward.json"), "{script} gives several rewards, and a task has one");
    }

    let to = tasks.join(name(from)?);
    ensure!(!to.exists(), "{} is there already; remove it, or name another folder", to.display());
    fs::create_dir_all(&to)?;
    let written = write(from, &to, &settings, &image, &instruction);
    if written.is_err() {
        // Half a task would spoil the suite; where it cannot be removed, the suite's own check finds it.
        let _ = fs::remove_dir_all(&to);
    }
    written.map(|()| to)
}

fn write(from: &Path, to: &Path, settings: &Table, image: &Image, instruction: &str) -> Result<()> {
    fs::write(to.join("prompt.txt"), relative(without_canary(instruction).trim(), &image.workdir) + "\n")?;
    fs::write(to.join("task.toml"), own_settings(settings)?)?;
    fs::write(to.join("setup.sh"), "#!/usr/bin/env bash\n# Everything this task needs is in repo/.\nexit 0\n")?;
    for (source, target) in &image.copies {
        add(&from.join("environment").join(source), &to.join("repo"), target)
            .with_context(|| format!("environment/{source} cannot be copied"))?;
    }
    copy_folder(&from.join("tests"), &to.join("hidden/tests")).context("no tests/")?;
    let use_paths_here = USE_PATHS_HERE.replace("@WORKDIR@", &image.workdir);
    let commands = image.commands.iter().copied().collect::<Vec<_>>().join(" ");
    let verify = VERIFY.replace("@COMMANDS@", &commands).replace("@HERE@", use_paths_here.trim_end());
    fs::write(to.join("verify.sh"), verify)?;
    let solution = from.join("solution");
    if solution.join("solve.sh").exists() {
        let script = SOLUTION.replace("@HERE@", use_paths_here.trim_end()).replace("@FILES@", &in_shell(&solution)?);
        fs::create_dir(to.join("solution"))?;
        fs::write(to.join("solution/solution.sh"), script)?;
        if solution.join(ANSWER).exists() {
            fs::copy(solution.join(ANSWER), to.join("solution").join(ANSWER))?;
        }
    }
    if from.join("near_miss").is_dir() {
        copy_folder(&from.join("near_miss"), &to.join("near_miss"))?;
    }
    Ok(())
}

fn check_settings(settings: &Table) -> Result<()> {
    ensure!(!settings.contains_key("steps"), "it has steps, and a task has one prompt");
    for (section, keys) in NEED_CONTAINER {
        let is_set = |key: &&&str| settings.get(section).and_then(|section| section.get(**key)).is_some();
        if let Some(key) = keys.iter().find(is_set) {
            bail!("[{section}] {key} needs its container");
        }
    }
    let os = settings.get("environment").and_then(|environment| environment.get("os")).and_then(Value::as_str);
    ensure!(os.is_none_or(|os| os.eq_ignore_ascii_case("linux")), "its container is not Linux");
    Ok(())
}

/// A name that a task of ours can have.
fn name(from: &Path) -> Result<String> {
    let name = from.canonicalize()?.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    let name = name.context("it has no name")?;
    Ok(name.replace(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit(), "-"))
}

fn own_settings(settings: &Table) -> Result<String> {
    let metadata = settings.get("metadata");
    let own = metadata.and_then(|metadata| metadata.get(OWN_TABLE)).and_then(Value::as_table);
    let mut own = own.cloned().unwrap_or_default();
    if let Some(category) = metadata.and_then(|metadata| metadata.get("category")).and_then(Value::as_str) {
        own.insert("category".to_owned(), category.into());
    }
    let timeout = settings.get("agent").and_then(|agent| agent.get("timeout_sec"));
    let seconds = timeout.and_then(|value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)));
    if let Some(seconds) = seconds {
        own.insert("timeout".to_owned(), format!("{:.0}s", seconds.max(1.0)).into());
    }
    Ok(toml::to_string(&own)?)
}

/// Marks against training on a task are not for the agent.
fn without_canary(instruction: &str) -> &str {
    let mut rest = instruction;
    while let Some((line, after)) = rest.split_once('\n') {
        let is_comment = line.starts_with("<!--") || line.starts_with('#');
        if !(is_comment && line.to_ascii_lowercase().contains("canary")) {
            break;
        }
        rest = after;
    }
    rest
}

/// Paths in the container's working folder, as they are from inside of it.
fn relative(text: &str, workdir: &str) -> String {
    let of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let of_path = |letter: char| of_name(letter) || "./".contains(letter);
    let (mut result, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(workdir) {
        result += before;
        // The dot at the end of a sentence is not of the path.
        let goes_on = after.strip_prefix('.').unwrap_or(after).starts_with(of_name);
        if before.ends_with(of_path) || goes_on {
            result += workdir;
            rest = after;
            continue;
        }
        rest = after.strip_prefix('/').unwrap_or(after);
        if rest.len() == after.len() || !rest.starts_with(of_path) {
            result += "./";
        }
    }
    result + rest
}

/// Copies a file or what a folder holds, as COPY does.
fn add(source: &Path, repo: &Path, target: &str) -> Result<()> {
    if source.is_dir() {
        return copy_folder(source, &repo.join(target));
    }
    let name = source.file_name().context("it has no name")?;
    let file =
        if target.is_empty() || target.ends_with('/') { repo.join(target).join(name) } else { repo.join(target) };
    fs::create_dir_all(file.parent().context("it is below repo/")?)?;
    fs::copy(source, file)?;
    Ok(())
}

/// Commands that write the folder's files to `$tmp/solution`.
fn in_shell(folder: &Path) -> Result<String> {
    let mut commands = String::new();
    for path in Tree::of(folder)?.paths() {
        let text = fs::read(folder.join(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.filter(|text| !text.contains('\0') && !text.contains(END_OF_FILE));
        let text = text.with_context(|| format!("solution/{path} is no text, and a solution is one script here"))?;
        ensure!(!path.contains('\''), "solution/{path}: its name has a quote");
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let file = format!("\"$tmp/solution\"/'{path}'");
        writeln!(commands, "mkdir -p \"$(dirname {file})\" && cat >{file} <<'{END_OF_FILE}'")?;
        writeln!(commands, "{text}{line_end}{END_OF_FILE}")?;
    }
    Ok(commands)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    Ok(copy(from, to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_paths_from_inside_the_working_folder() {
        let text = "Edit /app/src/a.py in /app. Not /app2, /app.conf or /srv/app/x; `ls /app/`.";
        let expected = "Edit src/a.py in ./. Not /app2, /app.conf or /srv/app/x; `ls ./`.";
        assert_eq!(relative(text, "/app"), expected);
    }

    #[test]
    fn marks_against_training_are_not_in_the_prompt() {
        assert_eq!(without_canary("<!-- CANARY 1 -->\n# canary 2\n# Title\n"), "# Title\n");
    }
}
