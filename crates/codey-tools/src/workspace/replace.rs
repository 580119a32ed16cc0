//! Putting new content in the place of a file, all or nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::fchown;

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use ulid::Ulid;

/// Around the names of files that wait to be put in place.
const PREFIX: &str = ".codey-";
const SUFFIX: &str = ".tmp";
/// Entries of a folder that are looked through for stale ones.
const MAX_SWEPT: usize = 10_000;

/// New content that waits beside the file it will replace. Dropped before it is put in place, it leaves nothing.
pub(crate) struct Replacement<'a> {
    folder: &'a Dir,
    /// `None` once it is in place.
    temporary: Option<OsString>,
}

impl<'a> Replacement<'a> {
    /// Writes `bytes` to the disk beside the target; mode and owner come from `model`.
    ///
    /// Beside it, since only there a file is sure to be on the same disk and gets what the folder gives its files. What a
    /// killed Codey left in the folder is removed by that.
    pub(crate) fn prepare(folder: &'a Dir, bytes: &[u8], model: Option<&Metadata>) -> io::Result<Self> {
        sweep(folder);
        let name = OsString::from(format!("{PREFIX}{}-{}{SUFFIX}", std::process::id(), Ulid::generate()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(OFlag::O_NOFOLLOW.bits());
        if model.is_some() {
            // Nobody else may look in before the real mode is set.
            options.mode(0o600);
        }
        let file = folder.open_with(&name, &options)?;
        let replacement = Self { folder, temporary: Some(name) };
        fill(file, bytes, model)?;
        Ok(replacement)
    }

    /// Takes the place of whatever `name` is.
    pub(crate) fn replace(mut self, name: &OsStr) -> io::Result<()> {
        let temporary = self.temporary.as_ref().expect("only this method and the next one take it");
        codey_faults::before("rename");
        self.folder.rename(temporary, self.folder, name)?;
        self.temporary = None;
        Ok(())
    }

    /// Becomes `name`; fails with [`io::ErrorKind::AlreadyExists`] if something appeared there meanwhile.
    pub(crate) fn create(self, name: &OsStr) -> io::Result<()> {
        let temporary = self.temporary.as_ref().expect("only this method and the one before take it");
        codey_faults::before("link");
        // A rename would replace; a link never does.
        match self.folder.hard_link(temporary, self.folder, name) {
            Err(error) if is_unsupported(&error) => {}
            result => return result,
        }
        // A disk without hard links: whoever makes the empty file first owns the name.
        self.folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
        self.replace(name)
    }
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.take() {
            codey_faults::before("remove");
            // What is lost is only tidiness: a stray file that says whose it is.
            let _ = self.folder.remove_file(name);
        }
    }
}

/// Whether a name is that of content that waits to be put in place.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    owner(name).is_some()
}

/// The process that such a name was made by.
fn owner(name: &OsStr) -> Option<Pid> {
    let (pid, id) = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
    Ulid::from_string(id).ok()?;
    pid.parse().ok().filter(|pid| *pid > 0).map(Pid::from_raw)
}

/// Removes what processes that are gone left in `folder`.
fn sweep(folder: &Dir) {
    let Ok(entries) = folder.entries() else { return };
    // A huge folder must not hold up a write; what is missed here somebody else's eyes will find.
    for name in entries.take(MAX_SWEPT).flatten().map(|entry| entry.file_name()) {
        if owner(&name).is_some_and(|pid| kill(pid, None) == Err(Errno::ESRCH)) {
            // Another write may have been faster.
            let _ = folder.remove_file(&name);
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    // Linux says EPERM where the file system knows no hard links.
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::TooManyLinks)
}

fn fill(mut file: File, bytes: &[u8], model: Option<&Metadata>) -> io::Result<()> {
    codey_faults::write(&mut file, bytes, "temporary")?;
    if let Some(model) = model {
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (model.uid(), model.gid()) {
            // Only root may give files away; for everybody else the file becomes theirs, as with any editor.
            let _ = fchown(&file, Some(model.uid()), Some(model.gid()));
        }
        file.set_permissions(Permissions::from_mode(model.mode() & 0o7777))?;
    }
    file.sync_all()
}

/// Whether two looks at a file saw the same version of the same file.
pub(crate) fn same_version(one: &Metadata, other: &Metadata) -> bool {
    let key = |metadata: &Metadata| {
        let changed = (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec());
        (metadata.dev(), metadata.ino(), metadata.size(), changed)
    };
    key(one) == key(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_making_are_temporary() {
        let id = Ulid::generate();
        let check = |name: String, expected: bool| assert_eq!(is_temporary(OsStr::new(&name)), expected, "{name}");
        check(format!(".codey-12-{id}.tmp"), true);
        check(format!(".codey-0-{id}.tmp"), false);
        check(format!(".codey--12-{id}.tmp"), false);
        check(format!(".codey-12-{id}"), false);
        check(".codey-12-notes.tmp".to_owned(), false);
        check(".codey".to_owned(), false);
    }
}
