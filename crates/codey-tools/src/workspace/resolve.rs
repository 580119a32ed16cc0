//! From a path argument to a place in the workspace.
//!
//! Each component is opened from the handle of the folder before it, and never through a link: links are read and their
//! targets walked in the same way. So the path that comes out is the one the handles stand for, the deny rules judge
//! that path, and whatever is swapped meanwhile only makes a lookup fail.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt};
use codey_protocol::{ErrorCode, RelPath};
use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::deny::{Access, belongs_to_git};
use super::{Workspace, file_error};
use crate::ToolError;
use crate::quoted::quoted;

/// Links followed before a path counts as a loop; the number Linux uses.
const MAX_LINKS: u32 = 40;

/// Bytes of a path, and of a name in one, at most: what the system takes. The time a lookup needs grows with their square.
/// Source: `PATH_MAX` and `NAME_MAX` of Linux.
const MAX_PATH: usize = 4_096;
const MAX_NAME: usize = 255;

/// What messages call the place that an empty path stands for.
const WORKING_DIRECTORY: &str = "the working directory";

/// Where something is or would be.
pub(crate) struct Place {
    /// The true path, without links.
    pub(crate) path: RelPath,
    /// Holds `name`, or the first of the missing folders.
    pub(crate) folder: Dir,
    /// Last component; `.` for the root.
    pub(crate) name: OsString,
    pub(crate) presence: Presence,
}

/// What is at a place.
pub(crate) enum Presence {
    /// Something, and never a link.
    Present(Box<Metadata>),
    /// Nothing; these folders are missing as well, outermost first.
    Absent { folders: Vec<OsString> },
}

impl Place {
    /// What is there.
    ///
    /// # Errors
    /// Nothing is; the message names what differs only by case or by Unicode normalisation.
    pub(crate) fn metadata(&self, shown: &str) -> Result<&Metadata, ToolError> {
        match &self.presence {
            Presence::Present(metadata) => Ok(metadata),
            Presence::Absent { .. } => Err(self.not_found(shown)),
        }
    }

    /// The error for a missing file.
    pub(crate) fn not_found(&self, shown: &str) -> ToolError {
        if matches!(shown, "" | ".") {
            let text = format!(
                "{WORKING_DIRECTORY} {} does not exist: it was deleted meanwhile. Name another folder by its absolute path.",
                self.path
            );
            return ToolError::new(ErrorCode::NotFound, text);
        }
        let text = match self.lookalike() {
            Some(name) => {
                let how = describe_lookalike(self.first_missing(), &name);
                format!("{shown} does not exist; {how}. Use that name exactly.")
            }
            None => format!("{shown} does not exist. Look for it with glob."),
        };
        ToolError::new(ErrorCode::NotFound, text)
    }

    /// An existing entry that differs from the first missing component only by case or Unicode normalisation.
    pub(crate) fn lookalike(&self) -> Option<String> {
        let wanted = folded(self.first_missing().to_str()?);
        let entries = self.folder.entries().ok()?.map_while(Result::ok);
        entries.map(|entry| entry.file_name()).find_map(|name| {
            let name = name.to_str()?;
            (folded(name) == wanted).then(|| name.to_owned())
        })
    }

    /// The component that is not there: the outermost missing folder, or the file.
    pub(crate) fn first_missing(&self) -> &OsStr {
        match &self.presence {
            Presence::Absent { folders } => folders.first().unwrap_or(&self.name),
            Presence::Present(_) => &self.name,
        }
    }
}

/// Says how an existing name differs from the wanted one.
pub(crate) fn describe_lookalike(wanted: &OsStr, existing: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    let wanted = wanted.to_string_lossy();
    let how = if wanted.nfc().eq(existing.nfc()) {
        "Unicode normalisation (composed or decomposed characters)"
    } else {
        "upper and lower case"
    };
    format!("there is {existing:?}, which differs only in {how}")
}

/// A name with its differences in case and Unicode normalisation undone.
pub(super) fn folded(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    // The same, and fast in a folder of many.
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// Resolves an argument: relative to where relative paths start, or absolute inside the root.
pub(super) fn resolve(workspace: &Workspace, path: &str, access: Access) -> Result<Place, ToolError> {
    if path.contains('\0') {
        return Err(ToolError::new(ErrorCode::InvalidArguments, "the path holds a NUL character, which no path can."));
    }
    check_length(path)?;
    let shown = if path.is_empty() { WORKING_DIRECTORY.into() } else { quoted(path) };
    let given = Path::new(path);
    let parts = if given.is_absolute() {
        inside_root(workspace, given).ok_or_else(|| outside(workspace, &shown, "is"))?
    } else {
        components(Path::new(workspace.cwd().as_str())).chain(components(given)).collect()
    };
    let place = Walk::judged(workspace, &shown, access).run(parts)?;
    let may_be_folder = match &place.presence {
        Presence::Present(metadata) => metadata.is_dir(),
        // Whoever only looks is told that nothing is there.
        Presence::Absent { .. } => access == Access::Read,
    };
    if !may_be_folder && (path.ends_with('/') || path.ends_with("/.")) {
        let text = format!(
            "{shown} ends like the path of a folder, but there is none; nothing was done. If a file is meant, end with its name."
        );
        return Err(ToolError::new(ErrorCode::InvalidArguments, text));
    }
    Ok(place)
}

fn check_length(path: &str) -> Result<(), ToolError> {
    let (whole, longest) = (path.len(), path.split('/').map(str::len).max().unwrap_or_default());
    if whole <= MAX_PATH && longest <= MAX_NAME {
        return Ok(());
    }
    let text = format!(
        "the path is too long: it has {whole} bytes, of which one name has {longest}, and no path has more than {MAX_PATH}, no \
         name more than {MAX_NAME}; nothing was done. Use a shorter one."
    );
    Err(ToolError::new(ErrorCode::InvalidArguments, text))
}

/// Resolves a path relative to the root.
pub(super) fn resolve_from_root(workspace: &Workspace, path: &RelPath, access: Access) -> Result<Place, ToolError> {
    Walk::judged(workspace, path.as_str(), access).run(components(Path::new(path.as_str())).collect())
}

/// Where a path relative to the root really lies, whatever any rule says of it; `None` if that is nowhere in the root.
pub(super) fn true_path(workspace: &Workspace, path: &str) -> Option<RelPath> {
    let place = Walk { workspace, shown: path, judge: None }.run(components(Path::new(path)).collect());
    place.ok().map(|place| place.path)
}

/// Where Codey's folder really lies, if it is a link.
pub(super) fn codey_home(workspace: &Workspace) -> Option<RelPath> {
    let is_link = workspace.root().symlink_metadata(".codey").is_ok_and(|metadata| metadata.is_symlink());
    if is_link { true_path(workspace, ".codey") } else { None }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    /// The argument, for messages.
    shown: &'a str,
    /// `None` if no rule is to be asked.
    judge: Option<Judge>,
}

/// What the rules have to know besides a path.
struct Judge {
    access: Access,
    home: Option<RelPath>,
}

/// An open folder and the component it was opened by.
struct Step {
    name: OsString,
    folder: Dir,
}

/// What one name in a folder is.
enum Entry {
    Missing,
    Link(PathBuf),
    Other(Box<Metadata>),
}

impl<'a> Walk<'a> {
    fn judged(workspace: &'a Workspace, shown: &'a str, access: Access) -> Self {
        Self { workspace, shown, judge: Some(Judge { access, home: codey_home(workspace) }) }
    }

    fn check(&self, path: &str) -> Result<(), ToolError> {
        match &self.judge {
            Some(Judge { access, home }) => self.workspace.deny().check(path, home.as_ref(), self.shown, *access),
            None => Ok(()),
        }
    }

    /// Judges an entry before it is looked at: of a denied one not even its kind is told.
    fn check_look(&self, steps: &[Step], name: &OsString) -> Result<(), ToolError> {
        let Some(Judge { home, .. }) = &self.judge else { return Ok(()) };
        let path = joined(steps.iter().map(|step| &step.name).chain([name]));
        self.workspace.deny().check_look(&path, home.as_ref(), self.shown)
    }

    fn run(&self, mut parts: VecDeque<OsString>) -> Result<Place, ToolError> {
        // The path as given is judged before anything is looked up, so a denied name does not even tell if it exists.
        if let Some(given) = lexical(&parts) {
            self.check(&given)?;
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut links = 0;
        while let Some(part) = parts.pop_front() {
            if part == ".." {
                if steps.pop().is_none() {
                    parts = self.back_in(&parts, links)?;
                }
                continue;
            }
            self.check_look(&steps, &part)?;
            let folder = steps.last().map_or(self.workspace.root(), |step| &step.folder);
            match self.entry(folder, &part)? {
                Entry::Missing if parts.iter().any(|rest| rest == "..") => return Err(self.missing_folder(&part)),
                Entry::Missing => {
                    let mut missing: Vec<OsString> = [part].into_iter().chain(parts).collect();
                    let name = missing.pop().expect("the missing component itself was put in");
                    return self.place(steps, name, Presence::Absent { folders: missing });
                }
                Entry::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(self.failed(&Errno::ELOOP.into()));
                    }
                    if target.is_absolute() {
                        // The kernel refuses these below a handle, also those that lead back in.
                        let inside = inside_root(self.workspace, &target);
                        let inside = inside.ok_or_else(|| outside(self.workspace, self.shown, "leads"))?;
                        steps.clear();
                        prepend(&mut parts, inside);
                    } else {
                        prepend(&mut parts, components(&target).collect());
                    }
                }
                Entry::Other(metadata) if parts.is_empty() => {
                    return self.place(steps, part, Presence::Present(metadata));
                }
                Entry::Other(metadata) if !metadata.is_dir() => return Err(self.not_a_folder(&part)),
                Entry::Other(_) => {
                    let opened = open_folder(folder, &part).map_err(|error| self.failed(&error))?;
                    steps.push(Step { name: part, folder: opened });
                }
            }
        }
        // The path ended in `..` or in a link to a folder's parent, or is the root.
        let name = steps.pop().map(|step| step.name);
        let folder = steps.last().map_or(self.workspace.root(), |step| &step.folder);
        let metadata = match &name {
            Some(name) => folder.symlink_metadata(name),
            None => folder.dir_metadata(),
        };
        let metadata = metadata.map_err(|error| self.failed(&error))?;
        self.place(steps, name.unwrap_or_else(|| ".".into()), Presence::Present(Box::new(metadata)))
    }

    fn entry(&self, folder: &Dir, name: &OsStr) -> Result<Entry, ToolError> {
        let metadata = match folder.symlink_metadata(name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Missing),
            Err(error) => return Err(self.failed(&error)),
        };
        if !metadata.is_symlink() {
            return Ok(Entry::Other(Box::new(metadata)));
        }
        folder.read_link_contents(name).map(Entry::Link).map_err(|error| self.failed(&error))
    }

    /// Where `..` above the root and `parts` lead, if back inside; `links` were followed until there.
    fn back_in(&self, parts: &VecDeque<OsString>, links: u32) -> Result<VecDeque<OsString>, ToolError> {
        let mut path = self.workspace.root_path().join("..");
        path.extend(parts);
        let verb = if links == 0 { "is" } else { "leads" };
        below_root(self.workspace, &lexical_absolute(&path)).ok_or_else(|| outside(self.workspace, self.shown, verb))
    }

    fn place(&self, mut steps: Vec<Step>, name: OsString, presence: Presence) -> Result<Place, ToolError> {
        let folders = match &presence {
            Presence::Present(_) => &[][..],
            Presence::Absent { folders } => folders,
        };
        let parts = steps.iter().map(|step| &step.name).chain(folders).chain([&name]).filter(|part| *part != ".");
        let path = joined(parts);
        self.check(&path)?;
        if self.judge.as_ref().is_some_and(|judge| judge.access == Access::Write) {
            let mut above = steps.iter().map(|step| &step.folder).chain([self.workspace.root()]);
            if above.any(is_git_folder) {
                return Err(belongs_to_git(self.shown));
            }
        }
        let folder = match steps.pop() {
            Some(step) => step.folder,
            None => self.workspace.root().try_clone().map_err(|error| self.failed(&error))?,
        };
        Ok(Place { path: RelPath::new(path), folder, name, presence })
    }

    fn failed(&self, error: &io::Error) -> ToolError {
        file_error(self.shown, "look up", error)
    }

    fn missing_folder(&self, part: &OsStr) -> ToolError {
        let part = part.to_string_lossy();
        let part = quoted(&part);
        ToolError::new(
            ErrorCode::NotFound,
            format!("{} does not exist: there is no folder {part}. Look for it with glob.", self.shown),
        )
    }

    fn not_a_folder(&self, part: &OsStr) -> ToolError {
        let part = part.to_string_lossy();
        let part = quoted(&part);
        ToolError::new(
            ErrorCode::NotFound,
            format!("{} does not exist: {part} is no folder. Look for it with glob.", self.shown),
        )
    }
}

/// Whether git would take `folder` for one of its own, whatever its name: `git init --separate-git-dir`, bare repositories
/// and their worktrees have other names than `.git`, and a hook or setting in them runs as code.
fn is_git_folder(folder: &Dir) -> bool {
    let holds = |name: &str| folder.symlink_metadata(name).is_ok();
    holds("HEAD") && (holds("commondir") || holds("objects") && holds("refs"))
}

/// Opens the folder `name` in `folder`, unless it is a link.
pub(crate) fn open_folder(folder: &Dir, name: &OsStr) -> io::Result<Dir> {
    let opened = folder.open_with(name, OpenOptions::new().read(true).custom_flags(FOLDER.bits()))?;
    Ok(Dir::from_std_file(opened.into_std()))
}

// O_PATH: a folder may be passed through without the right to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_PATH);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW);

/// The components of an absolute path below the root; `None` if it lies elsewhere.
///
/// With `..` in them they may still climb out, which the walk sees to.
fn inside_root(workspace: &Workspace, path: &Path) -> Option<VecDeque<OsString>> {
    below_root(workspace, path).or_else(|| below_root(workspace, &lexical_absolute(path)))
}

/// Components are compared, not text: `/tmp/abcdef` is not below `/tmp/abc`.
fn below_root(workspace: &Workspace, path: &Path) -> Option<VecDeque<OsString>> {
    let rest = workspace.inner.root_paths.iter().find_map(|root| path.strip_prefix(root).ok())?;
    Some(components(rest).collect())
}

fn lexical_absolute(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(component),
        }
    }
    clean
}

/// The path with `..` taken off by the letter; `None` if it leaves the root that way.
fn lexical(parts: &VecDeque<OsString>) -> Option<String> {
    let mut clean: Vec<&OsString> = Vec::new();
    for part in parts {
        if part == ".." {
            clean.pop()?;
        } else {
            clean.push(part);
        }
    }
    Some(joined(clean))
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a OsString>) -> String {
    parts.into_iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Normal components and `..`; nothing else matters once a path is known to be relative.
fn components(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

fn prepend(parts: &mut VecDeque<OsString>, mut front: VecDeque<OsString>) {
    front.append(parts);
    *parts = front;
}

/// `verb` is "is", or "leads" if links do it.
fn outside(workspace: &Workspace, shown: &str, verb: &str) -> ToolError {
    let root = workspace.root_path().display();
    ToolError::new(
        ErrorCode::OutsideRoot,
        format!("{shown} {verb} outside the workspace {root}; nothing was done. Use a path inside it."),
    )
}
