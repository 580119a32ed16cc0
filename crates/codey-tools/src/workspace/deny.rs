//! Which paths no tool may touch.

use codey_protocol::{ErrorCode, RelPath};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::resolve::folded;
use crate::ToolError;

/// What a tool wants of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To see it.
    Read,
    /// To change it.
    Write,
}

/// The deny globs that hold unless the user drops them. Source: contract section 4.
pub fn default_deny_paths() -> Vec<String> {
    ["**/.env", "**/.env.*", "**/id_rsa*", "**/id_ed25519*"].map(String::from).to_vec()
}

/// Deny globs, and the folders that belong to git and to Codey.
///
/// Rules match generously, since they forbid: upper and lower case are the same (a disk may think so too), composed and
/// decomposed characters as well, a glob without `/` matches in every folder, and a denied folder denies all below it. A
/// hard link is another name for the same file and cannot be told from it.
#[derive(Debug)]
pub(crate) struct DenyRules {
    globs: GlobSet,
    sources: Vec<String>,
}

/// What of `.codey` tools may read.
const READABLE: [&str; 2] = ["output", "skills"];

impl DenyRules {
    /// # Errors
    /// The place of a pattern in the list, and what is wrong with it.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, (usize, globset::Error)> {
        let mut globs = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let pattern = if pattern.is_ascii() { pattern.clone() } else { folded(pattern) };
            let trimmed = pattern.trim_start_matches("./").trim_matches('/');
            let anchored = if trimmed.contains('/') { trimmed.to_owned() } else { format!("**/{trimmed}") };
            let glob = GlobBuilder::new(&anchored).literal_separator(true).case_insensitive(true).build();
            globs.add(glob.map_err(|error| (index, error))?);
        }
        // Sound globs can be too large together; the last one is as good as any to blame.
        let globs = globs.build().map_err(|error| (patterns.len().saturating_sub(1), error))?;
        Ok(Self { globs, sources: patterns.to_vec() })
    }

    /// Refuses `path` (relative to the root) if it or a folder above it is denied; the error shows it as `shown`. `home`
    /// is where `.codey` really lies, if it is a link.
    pub(crate) fn check(
        &self,
        path: &str,
        home: Option<&RelPath>,
        shown: &str,
        access: Access,
    ) -> Result<(), ToolError> {
        if let Some(source) = self.rule_above(path) {
            return Err(denied_by_glob(source, shown));
        }
        check_owner(path, home, shown, access)
    }

    /// Refuses a look at `path`. Folders above it were asked before.
    pub(crate) fn check_look(&self, path: &str, home: Option<&RelPath>, shown: &str) -> Result<(), ToolError> {
        match self.rule_for(path) {
            Some(source) => Err(denied_by_glob(source, shown)),
            None => check_owner(path, home, shown, Access::Read),
        }
    }

    /// Whether the globs deny `path` or a folder above it.
    pub(crate) fn denies(&self, path: &str) -> bool {
        self.rule_above(path).is_some()
    }

    /// Whether a walk leaves out this entry (and, if it is a folder, all below it). Folders above it were asked before.
    pub(crate) fn hides(&self, path: &str, home: Option<&RelPath>) -> bool {
        self.check_look(path, home, path).is_err()
    }

    fn rule_above(&self, path: &str) -> Option<&str> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().find_map(|end| self.rule_for(&path[..end]))
    }

    fn rule_for(&self, path: &str) -> Option<&str> {
        if path.is_empty() {
            return None;
        }
        // The globs themselves know upper and lower case of ASCII only.
        let folded = if path.is_ascii() { path.to_owned() } else { folded(path) };
        self.globs.matches(folded).first().map(|index| self.sources[*index].as_str())
    }
}

/// Refuses what belongs to git or to Codey.
fn check_owner(path: &str, home: Option<&RelPath>, shown: &str, access: Access) -> Result<(), ToolError> {
    if let Some(rest) = below(path, ".codey").or_else(|| below(path, home?.as_str())) {
        let part = rest.split('/').next().unwrap_or_default();
        let readable = part.is_empty() || READABLE.iter().any(|name| part.eq_ignore_ascii_case(name));
        if access == Access::Write || !readable {
            return Err(denied(
                "codey",
                &format!("{shown} belongs to Codey itself; of .codey only output and skills may be read"),
            ));
        }
    }
    if access == Access::Write && path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(belongs_to_git(shown));
    }
    Ok(())
}

/// The refusal to change what is git's.
pub(super) fn belongs_to_git(shown: &str) -> ToolError {
    denied("git", &format!("{shown} belongs to git; change it with git commands in bash"))
}

/// The rest of `path` if it is `folder`, in any case, or lies in it.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    let (start, rest) = path.split_at_checked(folder.len())?;
    let is_there = start.eq_ignore_ascii_case(folder) && (rest.is_empty() || rest.starts_with('/'));
    is_there.then(|| rest.trim_start_matches('/'))
}

fn denied_by_glob(source: &str, shown: &str) -> ToolError {
    denied("deny_paths", &format!("{shown} matches {source}, which no tool may read, write or show"))
}

fn denied(rule: &str, reason: &str) -> ToolError {
    ToolError::new(
        ErrorCode::Denied,
        format!("denied by {rule}: {reason}. Nothing was done; go on without it, or ask the user."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, access: Access, allowed: bool) {
        let mut patterns = default_deny_paths();
        patterns.extend(["secrets/**", "private/", "*.pem", "conf/key.txt"].map(String::from));
        let rules = DenyRules::new(&patterns).unwrap();
        assert_eq!(rules.check(path, None, path, access).is_ok(), allowed, "{path} {access:?}");
    }

    #[test]
    fn deny_rules_match_files_folders_and_any_case() {
        for path in [".env", "a/b/.env", ".ENV", ".env.local", "a/id_rsa.pub", "x/id_ed25519", "secrets/a/b", "private"]
            .iter()
            .chain(&["a/private/b", "c.pem", "a/c.pem", "conf/key.txt", ".env/inner"])
        {
            check(path, Access::Read, false);
            check(path, Access::Write, false);
        }
        for path in ["", "env", "a.env", "environment", "secrets", "x/secrets/a", "conf/key.txt2", "a/conf/key.txt"] {
            check(path, Access::Read, true);
            check(path, Access::Write, true);
        }
    }

    #[test]
    fn git_may_be_read_and_not_written() {
        for path in [".git", ".git/config", "sub/.git", "sub/.GIT/hooks/x"] {
            check(path, Access::Read, true);
            check(path, Access::Write, false);
        }
        check(".gitignore", Access::Write, true);
    }

    #[test]
    fn of_codeys_folder_only_output_and_skills_may_be_read() {
        for (path, readable) in
            [(".codey/sessions/x", false), (".codey/events.jsonl", false), (".Codey/config.toml", false)]
                .iter()
                .chain(&[(".codey", true), (".codey/output/x", true), (".codey/skills/a/SKILL.md", true)])
        {
            check(path, Access::Read, *readable);
            check(path, Access::Write, false);
        }
        check("sub/.codey/x", Access::Write, true);
    }

    #[test]
    fn composed_and_decomposed_characters_are_the_same() {
        let forms = ["geh\u{e9}im/*.txt", "gehe\u{301}im/*.txt"];
        for pattern in forms {
            let rules = DenyRules::new(&[pattern.to_owned()]).unwrap();
            for path in forms {
                assert!(rules.denies(&path.replace('*', "a")), "{pattern:?} {path:?}");
                assert!(rules.hides(&path.replace('*', "a").to_uppercase(), None), "{pattern:?} {path:?}");
            }
        }
    }

    #[test]
    fn what_a_linked_codey_folder_leads_to_is_guarded_like_it() {
        let rules = DenyRules::new(&[]).unwrap();
        let home = RelPath::new("etc/conf");
        let is_allowed = |path: &str, access| rules.check(path, Some(&home), path, access).is_ok();
        for path in ["etc/conf/config.toml", ".codey/config.toml", "etc/conf/sessions/x"] {
            assert!(!is_allowed(path, Access::Read) && !is_allowed(path, Access::Write), "{path}");
        }
        for path in ["etc/conf", "etc/conf/output/x", "etc/conf/skills/a/SKILL.md"] {
            assert!(is_allowed(path, Access::Read) && !is_allowed(path, Access::Write), "{path}");
        }
        assert!(is_allowed("etc/confx", Access::Write) && is_allowed("etc", Access::Write));
    }

    #[test]
    fn a_broken_glob_is_an_error() {
        assert!(DenyRules::new(&["a/[".to_owned()]).is_err());
    }
}
