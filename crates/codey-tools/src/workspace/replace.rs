//! Putting new content in the place of a file, all or nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::fchown;

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use ulid::Ulid;

/// Around the names of files that wait to be put in place.
const PREFIX: &str = ".codey-";
const SUFFIX: &str = ".tmp";
/// Entries of a folder that are looked through for stale ones.
const MAX_SWEPT: usize = 10_000;
/// Bytes of an extended attribute, and of all their names, at most. Source: `XATTR_SIZE_MAX` and `XATTR_LIST_MAX` of Linux.
const MAX_ATTRIBUTE: usize = 64 << 10;
/// The attribute that is an access list.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// Attributes that vouch for one content. Of a file that is written to, the system itself drops the first.
const OF_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.evm", b"security.ima"];

/// New content that waits beside the file it will replace. Dropped before it is put in place, it leaves nothing.
pub(crate) struct Replacement<'a> {
    folder: &'a Dir,
    /// `None` once it is in place.
    temporary: Option<OsString>,
}

impl<'a> Replacement<'a> {
    /// Writes `bytes` to the disk beside the target; mode, owner and attributes come from `model`.
    ///
    /// Beside it, since only there a file is sure to be on the same disk and gets what the folder gives its files. What a
    /// killed Codey left in the folder is removed by that.
    pub(crate) fn prepare(folder: &'a Dir, bytes: &[u8], model: Option<&File>) -> io::Result<Self> {
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

fn fill(mut file: File, bytes: &[u8], model: Option<&File>) -> io::Result<()> {
    codey_faults::write(&mut file, bytes, "temporary")?;
    if let Some(model) = model {
        take_after(&file, model)?;
    }
    file.sync_all()
}

/// Gives `file` the owner, group, attributes and rights of `model`, as far as may be; nobody but its owner gains any right.
fn take_after(file: &File, model: &File) -> io::Result<()> {
    let old = model.metadata()?;
    // One by one: only root may give files away, but others may give theirs to any group they are in. What cannot be kept
    // becomes ours, as with any editor.
    let _ = fchown(file, None, Some(old.gid()));
    let _ = fchown(file, Some(old.uid()), None);
    let new = file.metadata()?;
    let is_group_kept = new.gid() == old.gid();
    let mut mode = old.mode() & if new.uid() == old.uid() { 0o7777 } else { 0o3777 };
    if !is_group_kept {
        mode = without_group(mode);
    }
    let mut names = Vec::with_capacity(MAX_ATTRIBUTE);
    // Where it fails, the disk knows no attributes.
    let _ = flistxattr(model, spare_capacity(&mut names));
    let (lists, others): (Vec<_>, Vec<_>) = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty() && !OF_CONTENT.contains(name))
        .partition(|name| *name == ACCESS_LIST);
    for name in others {
        // Some are not ours to set; the file loses them, as with any editor.
        let _ = attribute(model, name).and_then(|value| set_attribute(file, name, &value));
    }
    if lists.is_empty() {
        // The folder may have given one, with rights that the file did not grant.
        let _ = fremovexattr(file, ACCESS_LIST);
    } else {
        let copied = attribute(model, ACCESS_LIST).and_then(|mut list| {
            if !is_group_kept {
                take_group_from(&mut list);
            }
            set_attribute(file, ACCESS_LIST, &list)
        });
        mode = match copied {
            Ok(()) => mode & 0o7000 | file.metadata()?.mode() & 0o777,
            // Without the list nobody knows who else was kept out.
            Err(_) => mode & 0o7700,
        };
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// A mode for a file that now belongs to another group: neither that one nor, from now on, everybody else gets what only
/// one of the two had.
fn without_group(mode: u32) -> u32 {
    let shared = mode >> 3 & mode & 0o7;
    mode & !0o2077 | shared << 3 | shared
}

/// The same for an access list: behind its version, in 4 bytes, each entry is a tag and rights, 2 bytes each with the lower
/// one first, and an id in 4.
fn take_group_from(list: &mut [u8]) {
    const GROUP: u8 = 0x04;
    const MASK: u8 = 0x10;
    const EVERYBODY: u8 = 0x20;
    let entries = list.get_mut(4..).unwrap_or_default();
    let counted = entries.chunks_exact(8).filter(|entry| [GROUP, MASK, EVERYBODY].contains(&entry[0]));
    let shared = counted.fold(0o7, |shared, entry| shared & entry[2]);
    for entry in entries.chunks_exact_mut(8).filter(|entry| [GROUP, EVERYBODY].contains(&entry[0])) {
        entry[2] = shared;
    }
}

fn attribute(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = Vec::with_capacity(MAX_ATTRIBUTE);
    fgetxattr(file, name, spare_capacity(&mut value))?;
    Ok(value)
}

fn set_attribute(file: &File, name: &[u8], value: &[u8]) -> rustix::io::Result<()> {
    fsetxattr(file, name, value, XattrFlags::empty())
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

    /// An access list: one named user, and a group that is masked.
    fn access_list(named: u8, group: u8, mask: u8, everybody: u8) -> Vec<u8> {
        let entries = [(0x01, 6, u32::MAX), (0x02, named, 1_234), (0x04, group, u32::MAX), (0x10, mask, u32::MAX)];
        let entries = entries.into_iter().chain([(0x20, everybody, u32::MAX)]);
        let bytes = entries.flat_map(|(tag, rights, id)| [&[tag, 0, rights, 0], id.to_le_bytes().as_slice()].concat());
        2_u32.to_le_bytes().into_iter().chain(bytes).collect()
    }

    /// In a folder whose files belong to the group 2,000, somebody of the group 1,000 replaces a file that is root's.
    #[cfg(target_os = "linux")]
    #[test]
    #[allow(clippy::print_stdout, reason = "says what was not tested")]
    fn whoever_cannot_keep_owner_or_group_gives_nobody_else_more() {
        use nix::unistd::{Gid, Uid, setfsgid, setfsuid};

        if !Uid::effective().is_root() {
            return println!("skipped: only root can make files that belong to others");
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        fchown(dir.open(".").unwrap(), None, Some(2_000)).unwrap();
        dir.set_permissions(".", Permissions::from_mode(0o2777)).unwrap();
        let check = |old: (u32, u32), list: Option<Vec<u8>>, new: (u32, u32), new_list: Option<Vec<u8>>| {
            let model = dir.create("f").unwrap();
            fchown(&model, Some(0), Some(old.0)).unwrap();
            model.set_permissions(Permissions::from_mode(old.1)).unwrap();
            if let Some(Err(error)) = list.as_ref().map(|list| set_attribute(&model, ACCESS_LIST, list)) {
                return println!("skipped: this disk takes no access lists: {error}");
            }
            // Of this thread alone.
            setfsgid(Gid::from_raw(1_000));
            setfsuid(Uid::from_raw(1_000));
            let replacement = Replacement::prepare(&dir, b"", Some(&model)).unwrap();
            replacement.replace(OsStr::new("f")).unwrap();
            setfsuid(Uid::from_raw(0));
            setfsgid(Gid::from_raw(0));
            let file = dir.open("f").unwrap();
            let metadata = file.metadata().unwrap();
            let found = (metadata.gid(), metadata.mode() & 0o7777);
            assert_eq!((metadata.uid(), found, attribute(&file, ACCESS_LIST).ok()), (1_000, new, new_list));
            dir.remove_file("f").unwrap();
        };
        check((1_000, 0o664), None, (1_000, 0o664), None);
        check((1_000, 0o6755), None, (1_000, 0o2755), None);
        check((3_000, 0o664), None, (2_000, 0o644), None);
        check((3_000, 0o640), None, (2_000, 0o600), None);
        check((3_000, 0o604), None, (2_000, 0o600), None);
        check((3_000, 0o6755), None, (2_000, 0o755), None);
        let list = access_list(4, 0, 4, 0);
        check((1_000, 0o640), Some(list.clone()), (1_000, 0o640), Some(list));
        check((3_000, 0o664), Some(access_list(6, 6, 6, 4)), (2_000, 0o664), Some(access_list(6, 4, 6, 4)));
        check((3_000, 0o604), Some(access_list(6, 6, 0, 4)), (2_000, 0o600), Some(access_list(6, 0, 0, 0)));
    }
}
