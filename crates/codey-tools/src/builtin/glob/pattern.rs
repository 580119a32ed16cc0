//! What a glob pattern means in this workspace.

use codey_protocol::{ErrorCode, RelPath};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::quoted::{cut, quoted};
use crate::workspace::{Access, Place, Presence, describe_lookalike};
use crate::{ToolError, Workspace};

/// Bytes of a pattern at most, as many as of a path: making a matcher of a longer one takes seconds, in which nothing could
/// be cancelled.
const MAX_PATTERN: usize = 4_096;

/// A pattern, with as much of it as exists taken by the letter.
///
/// A component that is on disk exactly as written is that entry and no pattern, whatever brackets it holds; one made of
/// `*` and `?` alone is always a pattern. Behind the first real pattern, brackets also match themselves.
pub(super) enum Pattern {
    /// All of it is the path of a file.
    File(RelPath),
    /// All of it is the path of a folder.
    Folder(RelPath),
    /// It cannot match: a part that is no pattern does not exist.
    Nothing {
        /// What is missing, and what is there instead.
        reason: String,
    },
    /// Its beginning is `folder`; the rest is matched below that.
    Below {
        folder: RelPath,
        globs: GlobSet,
        /// The rest as written.
        rest: String,
    },
}

impl Pattern {
    /// Reads `pattern`, relative to the folder `path`.
    pub(super) fn new(workspace: &Workspace, path: &str, pattern: &str) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::new(ErrorCode::InvalidArguments, "pattern is empty. Send one such as **/*.rs."));
        }
        let mut prefix = match (path, pattern.starts_with('/')) {
            (_, true) => "/".to_owned(),
            (path, false) => path.to_owned(),
        };
        let components: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        for (index, component) in components.iter().enumerate() {
            let gap = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
            let longer = format!("{prefix}{gap}{component}");
            let is_plain = !component.contains(['*', '?', '[', '{', '\\']);
            if is_plain {
                prefix = longer;
                continue;
            }
            let is_wild = component.chars().all(|char| matches!(char, '*' | '?'));
            let exists = !is_wild
                && workspace
                    .resolve(&longer, Access::Read)
                    .is_ok_and(|place| matches!(place.presence, Presence::Present(_)));
            if !exists {
                return Self::below(workspace, &prefix, &components[index..].join("/"));
            }
            prefix = longer;
        }
        let place = workspace.resolve(&prefix, Access::Read)?;
        Ok(match &place.presence {
            Presence::Present(metadata) if metadata.is_dir() => Self::Folder(place.path),
            Presence::Present(_) => Self::File(place.path),
            Presence::Absent { .. } => Self::Nothing { reason: missing(&place) },
        })
    }

    fn below(workspace: &Workspace, prefix: &str, rest: &str) -> Result<Self, ToolError> {
        let globs = compile(rest)?;
        let place = workspace.resolve(prefix, Access::Read)?;
        Ok(match &place.presence {
            Presence::Present(metadata) if metadata.is_dir() => {
                Self::Below { folder: place.path, globs, rest: rest.to_owned() }
            }
            Presence::Present(_) => Self::Nothing { reason: format!(": {} is no folder", quoted(prefix)) },
            Presence::Absent { .. } => Self::Nothing { reason: missing(&place) },
        })
    }

    /// Why nothing may have been found, to follow "no files found".
    pub(super) fn hint(&self, pattern: &str) -> String {
        match self {
            Self::Nothing { reason } => reason.clone(),
            Self::Below { .. } if !pattern.contains('/') => {
                format!("; for all folders below use **/{}", quoted(pattern))
            }
            Self::File(_) | Self::Folder(_) | Self::Below { .. } => String::new(),
        }
    }
}

fn missing(place: &Place) -> String {
    let name = place.first_missing();
    let shown = name.to_string_lossy();
    let shown = quoted(&shown);
    match place.lookalike() {
        Some(existing) => format!(": {shown} does not exist, but {}", describe_lookalike(name, &existing)),
        None => format!(": {shown} does not exist"),
    }
}

/// The pattern, and the same with its brackets taken by the letter.
fn compile(pattern: &str) -> Result<GlobSet, ToolError> {
    let glob = |pattern: &str| GlobBuilder::new(pattern).literal_separator(true).build();
    let broken = |error: globset::Error| {
        let text = format!(
            "the pattern {} is broken: {}. Mend it; a backslash takes a character by the letter.",
            quoted(pattern),
            cut(&error.kind().to_string())
        );
        ToolError::new(ErrorCode::InvalidArguments, text)
    };
    let mut globs = GlobSetBuilder::new();
    globs.add(glob(pattern).map_err(broken)?);
    if pattern.contains(['[', '{']) && !pattern.contains('\\') {
        let by_letter: String = pattern
            .chars()
            .flat_map(|char| ['\\', char].into_iter().skip(usize::from(!"[]{}".contains(char))))
            .collect();
        globs.add(glob(&by_letter).map_err(broken)?);
    }
    globs.build().map_err(broken)
}

/// Refuses a pattern that is too long; `name` is the argument's.
pub(in super::super) fn check_length(name: &str, pattern: &str) -> Result<(), ToolError> {
    let length = pattern.len();
    if length <= MAX_PATTERN {
        return Ok(());
    }
    let text =
        format!("{name} has {length} bytes, and at most {MAX_PATTERN} are taken; nothing was searched. Shorten it.");
    Err(ToolError::new(ErrorCode::InvalidArguments, text))
}

/// A glob for files anywhere below a folder: without `/` it is matched against the name alone.
pub(in super::super) fn for_files(pattern: &str) -> Result<GlobSet, ToolError> {
    let anchored =
        if pattern.contains('/') { pattern.trim_start_matches('/').to_owned() } else { format!("**/{pattern}") };
    compile(&anchored)
}
