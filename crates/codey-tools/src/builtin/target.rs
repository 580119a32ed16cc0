//! The file that an edit or a write is about: may it be changed, and changing it.

use std::io;

use cap_std::fs::{File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt};
use codey_protocol::{Digest, ErrorCode, Observed, RelPath};
use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::content_kind::{ContentKind, SAMPLE};
use crate::quoted::quoted;
use crate::workspace::{
    Access, Place, Presence, Replacement, Standing, check_named, describe_lookalike, digest_of, file_error,
    open_folder, open_regular, read_whole, same_version,
};
use crate::{Expect, Plan, ToolError, Workspace};

/// Bytes of the largest file that is changed; it is held in memory twice.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// A place to write to, and what is there now.
pub(super) struct Target {
    /// The argument, for messages.
    shown: String,
    place: Place,
    /// `None` if nothing is there.
    current: Option<Current>,
}

/// A version of a file.
struct Current {
    /// Kept open: what was read is compared with what is replaced.
    file: File,
    metadata: Metadata,
    bytes: Vec<u8>,
    digest: Digest,
}

impl Target {
    /// Reads what is at the path `argument` and refuses what must not be changed: denied, no text, write-protected, or not the
    /// version the model knows.
    pub(super) fn open(workspace: &Workspace, argument: &str) -> Result<Self, ToolError> {
        check_named(argument)?;
        let place = workspace.resolve(argument, Access::Write)?;
        let shown = quoted(argument).into_owned();
        let current = match &place.presence {
            Presence::Present(_) => Some(Current::read(&place, &shown)?),
            Presence::Absent { .. } => None,
        };
        let target = Self { shown, place, current };
        target.check_standing(workspace)?;
        Ok(target)
    }

    /// As [`Target::open`], and refuses what is no longer as `plan` saw it.
    pub(super) fn reopen(workspace: &Workspace, argument: &str, plan: &Plan) -> Result<Self, ToolError> {
        let target = Self::open(workspace, argument)?;
        if plan.expects == [(target.path().clone(), target.expect())] {
            return Ok(target);
        }
        let was_absent = plan.expects.iter().all(|(_, expect)| *expect == Expect::Absent);
        let shown = &target.shown;
        Err(match &target.current {
            Some(_) if was_absent => appeared(shown),
            Some(_) => changed(shown),
            None => deleted(shown),
        })
    }

    /// The argument, as messages name it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The true path, relative to the root.
    pub(super) fn path(&self) -> &RelPath {
        &self.place.path
    }

    /// What is there now.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.current.as_ref().map(|current| current.bytes.as_slice())
    }

    /// What has to be there when the plan is carried out.
    pub(super) fn expect(&self) -> Expect {
        self.current.as_ref().map_or(Expect::Absent, |current| Expect::Digest(current.digest.clone()))
    }

    /// The error for a file that should be there and is not.
    pub(super) fn missing(&self, workspace: &Workspace) -> ToolError {
        match workspace.standing(self.path(), None) {
            Standing::Deleted => deleted(&self.shown),
            Standing::Current
            | Standing::NeverRead
            | Standing::Changed
            | Standing::SummarisedAway
            | Standing::Absent => self.place.not_found(&self.shown),
        }
    }

    /// Refuses to make a file whose name could be taken for that of another.
    pub(super) fn check_new_name(&self) -> Result<(), ToolError> {
        let Some(existing) = self.place.lookalike().filter(|_| self.current.is_none()) else { return Ok(()) };
        let how = describe_lookalike(self.place.first_missing(), &existing);
        let text = format!(
            "{} does not exist, but {how}; nothing was written. Use that name, or create the other with bash first.",
            self.shown
        );
        Err(ToolError::new(ErrorCode::InvalidArguments, text))
    }

    /// Says, in a line of its own, that a file with other names parts from them when it is replaced.
    pub(super) fn note_on_links(&self) -> String {
        match self.current.as_ref().map_or(1, |current| current.metadata.nlink()) {
            0 | 1 => String::new(),
            2 => "\n[it was a hard link; its other name keeps the old content]".to_owned(),
            names => format!("\n[it was a hard link; its {} other names keep the old content]", names - 1),
        }
    }

    /// Puts `bytes` in its place, all or nothing, and gives the version that is there now.
    pub(super) fn put(self, bytes: &[u8]) -> Result<Observed, ToolError> {
        let failed = |error: &io::Error| file_error(&self.shown, "write", error);
        let Place { path, mut folder, name, presence } = self.place;
        match (&self.current, presence) {
            (Some(current), _) => {
                let replacement =
                    Replacement::prepare(&folder, bytes, Some(&current.file)).map_err(|error| failed(&error))?;
                current.check_unchanged(&folder, &name, &self.shown)?;
                replacement.replace(&name).map_err(|error| failed(&error))?;
            }
            (None, Presence::Absent { folders }) => {
                for part in &folders {
                    match folder.create_dir(part) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&error)),
                        Ok(()) | Err(_) => {}
                    }
                    folder = open_folder(&folder, part).map_err(|error| failed(&error))?;
                }
                let replacement = Replacement::prepare(&folder, bytes, None).map_err(|error| failed(&error))?;
                replacement.create(&name).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => appeared(&self.shown),
                    _ => failed(&error),
                })?;
            }
            (None, Presence::Present(_)) => unreachable!("what is present was read"),
        }
        Ok(Observed { path, digest: digest_of(bytes) })
    }

    fn check_standing(&self, workspace: &Workspace) -> Result<(), ToolError> {
        let Some(current) = &self.current else { return Ok(()) };
        let shown = &self.shown;
        match workspace.standing(self.path(), Some(&current.digest)) {
            Standing::Current | Standing::Absent | Standing::Deleted => Ok(()),
            Standing::NeverRead => Err(ToolError::new(
                ErrorCode::NotRead,
                format!(
                    "{shown} exists and has not been read yet; nothing was changed. Read it, then send this again."
                ),
            )),
            Standing::Changed => Err(changed(shown)),
            Standing::SummarisedAway => Err(ToolError::new(
                ErrorCode::StaleRead,
                format!(
                    "{shown} was read, but its content is no longer in this conversation (it was summarised); nothing \
                     was changed. Read it again, then send this again."
                ),
            )),
        }
    }
}

impl Current {
    fn read(place: &Place, shown: &str) -> Result<Self, ToolError> {
        let (mut file, metadata) = open_regular(place, shown)?;
        check_writable(place, &metadata, shown)?;
        let bytes = read_whole(&mut file, MAX_FILE, shown)?;
        check_text(&bytes, shown)?;
        let digest = digest_of(&bytes);
        Ok(Self { file, metadata, bytes, digest })
    }

    /// Refuses if the file was changed or exchanged since it was read; nothing but the rename comes after this.
    fn check_unchanged(&self, folder: &cap_std::fs::Dir, name: &std::ffi::OsStr, shown: &str) -> Result<(), ToolError> {
        let held = self.file.metadata().map_err(|error| file_error(shown, "write", &error))?;
        match folder.symlink_metadata(name) {
            Ok(there) if same_version(&there, &self.metadata) && same_version(&held, &self.metadata) => Ok(()),
            Ok(_) => Err(changed(shown)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(deleted(shown)),
            Err(error) => Err(file_error(shown, "write", &error)),
        }
    }
}

/// A rename would also replace a file that is write-protected, so its protection is looked at.
fn check_writable(place: &Place, metadata: &Metadata, shown: &str) -> Result<(), ToolError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = place.folder.open_with(&place.name, OpenOptions::new().write(true).custom_flags(flags.bits()));
    match opened {
        Err(error) if error.raw_os_error() != Some(Errno::ETXTBSY as i32) => Err(file_error(shown, "write", &error)),
        // For root everything opens.
        Ok(_) | Err(_) if metadata.permissions().mode() & 0o222 == 0 => {
            Err(file_error(shown, "write", &Errno::EACCES.into()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn check_text(bytes: &[u8], shown: &str) -> Result<(), ToolError> {
    match ContentKind::of(&bytes[..bytes.len().min(SAMPLE)]) {
        ContentKind::Utf8 { .. } => Ok(()),
        ContentKind::Utf16 { name } => Err(ToolError::new(
            ErrorCode::BinaryFile,
            format!(
                "{shown} is encoded in {name}, and this tool writes UTF-8 only; nothing was changed. Convert it with iconv \
                 in bash, change it, and convert it back."
            ),
        )),
        ContentKind::Image(_) | ContentKind::Binary(_) => Err(ToolError::new(
            ErrorCode::BinaryFile,
            format!("{shown} is a binary file, and this tool changes text only; nothing was changed. Use bash."),
        )),
    }
}

fn changed(shown: &str) -> ToolError {
    ToolError::new(
        ErrorCode::StaleRead,
        format!(
            "{shown} changed since it was last read (by a command, another program or the user); nothing was changed by \
             this call. Read it again, then send what still fits."
        ),
    )
}

fn deleted(shown: &str) -> ToolError {
    ToolError::new(
        ErrorCode::StaleRead,
        format!(
            "{shown} was read, but has been deleted since; nothing was changed. If it is to exist, create it with write."
        ),
    )
}

fn appeared(shown: &str) -> ToolError {
    ToolError::new(
        ErrorCode::StaleRead,
        format!(
            "{shown} did not exist and was created by something else meanwhile; nothing was written. Read it first."
        ),
    )
}
