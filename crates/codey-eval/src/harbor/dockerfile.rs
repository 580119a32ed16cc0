//! The image of a task: what it takes from us, and what we can do without it.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};

/// Debian, so that a package brings each toolchain.
const BASE: &str = "debian:trixie-slim";
/// Where Harbor's tasks keep their files by custom.
pub(super) const WORKDIR: &str = "/app";
/// The folder of the build context that becomes the workspace.
pub(super) const CONTEXT: &str = "workspace";
/// What every image has besides its toolchains.
const PACKAGES: [&str; 2] = ["ca-certificates", "git"];

/// A command, the packages that bring it (its own one first), and the image that is named after it.
const TOOLCHAINS: [(&str, &[&str], &str); 11] = [
    ("python3", &["python3"], "python"),
    ("node", &["nodejs"], "node"),
    ("gcc", &["gcc", "libc6-dev"], "gcc"),
    ("cc", &["gcc", "libc6-dev"], "gcc"),
    ("make", &["make"], "buildpack-deps"),
    ("javac", &["default-jdk-headless"], "eclipse-temurin"),
    ("java", &["default-jdk-headless"], "eclipse-temurin"),
    ("cargo", &["cargo", "rustc"], "rust"),
    ("rustc", &["cargo", "rustc"], "rust"),
    ("sqlite3", &["sqlite3"], "sqlite"),
    ("perl", &["perl"], "perl"),
];
/// Programs that bring packages. In an image they may; on this machine they would change it.
const INSTALLERS: [&str; 8] = ["apt-get", "apt", "apk", "dnf", "yum", "pip", "pip3", "npm"];
/// Programs that fetch something when a script runs.
const DOWNLOADERS: [&str; 5] = ["curl", "wget", "uv", "uvx", "npx"];
/// What a `RUN` may do besides: it leaves nothing that a task's own repository has not.
const HARMLESS: [&str; 3] = ["git", "rm", "mkdir"];

/// A Dockerfile for a workspace whose scripts are `texts`. A toolchain too many does no harm.
pub(super) fn write(texts: &[String]) -> String {
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| words(text)).collect();
    let needed = TOOLCHAINS.iter().filter(|(command, ..)| words.contains(command));
    let packages: BTreeSet<&str> =
        PACKAGES.into_iter().chain(needed.flat_map(|(_, packages, _)| *packages).copied()).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
    format!(
        "FROM {BASE}\n\
         RUN apt-get update && apt-get install --yes --no-install-recommends {packages} && rm -rf /var/lib/apt/lists/*\n\
         WORKDIR {WORKDIR}\n\
         COPY {CONTEXT}/ ./\n\
         RUN git init --quiet --template= --initial-branch=main && git add --all && \
         git -c user.name=Codey -c user.email=evals@example.com commit --quiet --allow-empty --message=Start\n"
    )
}

/// What an image is for those who have none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// The folder that the task is about.
    pub(super) workdir: String,
    /// Paths in the context, and where they go below `workdir`.
    pub(super) copies: Vec<(String, String)>,
    /// Commands that have to be there.
    pub(super) commands: BTreeSet<&'static str>,
}

/// Reads a Dockerfile that only takes a base image, installs packages and copies files.
///
/// # Errors
/// It does more: the line, and why that cannot be done without the image.
pub(super) fn read(text: &str) -> Result<Image> {
    let (mut bases, mut workdir, mut copied, mut commands) = (0, "/".to_owned(), Vec::new(), BTreeSet::new());
    for line in instructions(text) {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        match name.to_ascii_uppercase().as_str() {
            "FROM" => {
                bases += 1;
                ensure!(bases == 1 && !rest.contains(' '), "`{line}`: several stages need a build");
                let image = rest.split(':').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
                commands.extend(TOOLCHAINS.iter().filter(|(.., name)| *name == image).map(|(command, ..)| *command));
            }
            "WORKDIR" => workdir = absolute(&workdir, rest),
            "COPY" => copied.extend(copies(rest, &workdir).with_context(|| format!("`{line}`"))?),
            "RUN" => {
                check_run(rest).with_context(|| format!("`{line}`"))?;
                let words = words(rest).collect::<BTreeSet<_>>();
                let brought = TOOLCHAINS.iter().filter(|(_, packages, _)| words.contains(packages[0]));
                commands.extend(brought.map(|(command, ..)| *command));
            }
            "ENV" if rest.starts_with("DEBIAN_FRONTEND") => {}
            _ => {
                bail!("`{line}`: only FROM, WORKDIR, COPY and RUN with package installs can be done without the image")
            }
        }
    }
    ensure!(workdir != "/", "it sets no WORKDIR, so that nothing tells the workspace from the machine");
    let mut copies = Vec::new();
    for (from, to) in copied {
        let below = to.strip_prefix(&workdir).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let below = below.with_context(|| format!("COPY puts {from} at {to}, outside of {workdir}"))?;
        copies.push((from, below.trim_start_matches('/').to_owned()));
    }
    Ok(Image { workdir, copies, commands })
}

/// The line of a script that needs a network or would change this machine.
pub(super) fn installs(script: &str) -> Option<&str> {
    let lines = script.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let is_listed = |word: &str| INSTALLERS.contains(&word) || DOWNLOADERS.contains(&word);
    lines.into_iter().find(|line| words(line).any(is_listed))
}

/// Whole lines without comments.
fn instructions(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn copies(rest: &str, workdir: &str) -> Result<Vec<(String, String)>> {
    let mut paths: Vec<&str> = rest.split_whitespace().collect();
    let is_plain = |path: &&str| !path.starts_with("--") && !path.contains(['[', '*', '?', '$', '"']);
    ensure!(paths.iter().all(is_plain), "only plain paths can be copied");
    let to = paths.pop().filter(|_| !paths.is_empty()).context("it names no target")?;
    let is_folder = to.ends_with('/') || to == "." || paths.len() > 1;
    let to = absolute(workdir, to);
    // The name is kept for a file that goes into a folder; a folder gives what it holds.
    Ok(paths.into_iter().map(|from| (from.to_owned(), if is_folder { format!("{to}/") } else { to.clone() })).collect())
}

fn check_run(rest: &str) -> Result<()> {
    for command in rest.split("&&").flat_map(|part| part.split(';')).map(str::trim).filter(|part| !part.is_empty()) {
        let program = command.split_whitespace().next().unwrap_or_default();
        ensure!(
            INSTALLERS.contains(&program) || HARMLESS.contains(&program),
            "`{program}` may make anything; only package installs can be left out"
        );
    }
    Ok(())
}

fn absolute(workdir: &str, path: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{workdir}/{path}") };
    let parts = joined.split('/').filter(|part| !part.is_empty() && *part != ".");
    format!("/{}", parts.collect::<Vec<_>>().join("/"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(text: &str, workdir: &str, copies: &[(&str, &str)], commands: &[&'static str]) {
        let copies = copies.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let image = Image { workdir: workdir.to_owned(), copies, commands: commands.iter().copied().collect() };
        assert_eq!(read(text).map_err(|error| format!("{error:#}")), Ok(image));
    }

    fn check_refused(text: &str, why: &str) {
        assert_eq!(read(text).map_err(|error| format!("{error:#}")), Err(why.to_owned()));
    }

    #[test]
    fn an_image_brings_what_the_scripts_call() {
        let dockerfile = write(&["command -v node >/dev/null || exit 99".to_owned(), "make test".to_owned()]);
        let install = dockerfile.lines().nth(1).unwrap_or_default();
        assert!(install.contains("--no-install-recommends ca-certificates git make nodejs &&"), "{install}");
    }

    #[test]
    fn what_is_written_can_be_read() {
        let dockerfile = write(&["python3 -m unittest".to_owned()]);
        check_read(&dockerfile, "/app", &[("workspace/", "")], &["python3"]);
    }

    #[test]
    fn files_go_where_the_working_folder_is_at_that_line() {
        let text = "FROM docker.io/library/node:22\nWORKDIR /srv\nWORKDIR app # two\nCOPY a.js b.js src/\n";
        check_read(&text.replace(" # two", ""), "/srv/app", &[("a.js", "src/"), ("b.js", "src/")], &["node"]);
    }

    #[test]
    fn comments_and_continued_lines_are_understood() {
        let text =
            "# A task\nFROM debian\nRUN apt-get update \\\n # for the tests\n && apt-get install -y gcc\nWORKDIR /w\n";
        check_read(text, "/w", &[], &["gcc", "cc"]);
    }

    #[test]
    fn what_needs_the_image_is_refused_with_its_line() {
        let head = "FROM debian\nWORKDIR /app\n";
        check_refused(
            &format!("{head}RUN make install"),
            "`RUN make install`: `make` may make anything; only package installs can be left out",
        );
        check_refused(&format!("{head}COPY *.py ."), "`COPY *.py .`: only plain paths can be copied");
        check_refused(&format!("{head}COPY key /etc/key"), "COPY puts key at /etc/key, outside of /app");
        check_refused("FROM a AS b\nFROM c", "`FROM a AS b`: several stages need a build");
        check_refused("FROM debian", "it sets no WORKDIR, so that nothing tells the workspace from the machine");
        check_refused(
            &format!("{head}ENTRYPOINT serve"),
            "`ENTRYPOINT serve`: only FROM, WORKDIR, COPY and RUN with package installs can be done without the image",
        );
    }

    #[test]
    fn a_script_that_installs_or_downloads_is_seen() {
        assert_eq!(
            installs("# apt-get is not called\nset -e\npython3 -m pip install pytest\n"),
            Some("python3 -m pip install pytest")
        );
        assert_eq!(installs("curl -sSf x | sh"), Some("curl -sSf x | sh"));
        assert_eq!(installs("pytest /tests/test_outputs.py"), None);
    }
}
