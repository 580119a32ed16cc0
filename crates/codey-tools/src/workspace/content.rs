//! Opening and reading files through the workspace.

use std::io::{self, Read};

use cap_std::fs::{File, Metadata, OpenOptions, OpenOptionsExt};
use codey_protocol::{Digest, ErrorCode};
use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::Place;
use crate::ToolError;

/// Makes sure that a path argument names something. Empty, it would stand for the working directory.
pub(crate) fn check_named(shown: &str) -> Result<(), ToolError> {
    if shown.is_empty() {
        return Err(ToolError::new(ErrorCode::InvalidArguments, "path is empty; nothing was done. Name a file."));
    }
    Ok(())
}

/// Opens the regular file at `place` for reading.
///
/// # Errors
/// Nothing is there, or it is a folder, a device, a FIFO, a socket; none of these is waited on.
pub(crate) fn open_regular(place: &Place, shown: &str) -> Result<(File, Metadata), ToolError> {
    check_regular(place.metadata(shown)?, shown)?;
    // It may have been swapped since: no link is followed, and a FIFO would block without O_NONBLOCK.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = place.folder.open_with(&place.name, OpenOptions::new().read(true).custom_flags(flags.bits()));
    let file = opened.map_err(|error| file_error(shown, "open", &error))?;
    let metadata = file.metadata().map_err(|error| file_error(shown, "open", &error))?;
    check_regular(&metadata, shown)?;
    Ok((file, metadata))
}

fn check_regular(metadata: &Metadata, shown: &str) -> Result<(), ToolError> {
    if metadata.is_file() {
        return Ok(());
    }
    if metadata.is_dir() {
        let text = format!("{shown} is a directory. List the files in it with glob, or search them with grep.");
        return Err(ToolError::new(ErrorCode::IsDirectory, text));
    }
    let text = format!("{shown} is no regular file but a device, FIFO or socket. If it is really needed, use bash.");
    Err(ToolError::new(ErrorCode::NotRegularFile, text))
}

/// Reads a whole file.
///
/// # Errors
/// It holds more than `limit` bytes, or reading fails.
pub(crate) fn read_whole(file: &mut File, limit: u64, shown: &str) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| file_error(shown, "read", &error))?;
    if bytes.len() as u64 > limit {
        let text = format!("{shown} is larger than {} MiB, too large for this tool. Use bash.", limit >> 20);
        return Err(ToolError::new(ErrorCode::TooLarge, text));
    }
    Ok(bytes)
}

/// Names a content.
pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(blake3::hash(bytes).to_hex().as_str())
}

/// What the system said about `shown`, with what can be done about it.
pub(crate) fn file_error(shown: &str, action: &str, error: &io::Error) -> ToolError {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::NotFound,
        _ => ErrorCode::Io,
    };
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "It was there a moment ago; look again with glob.",
        io::ErrorKind::PermissionDenied => {
            "Its permissions do not allow it; look with `ls -l` in bash, and ask the user before changing them."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "The disk is full; tell the user.",
        io::ErrorKind::ReadOnlyFilesystem => "The disk is mounted read-only; tell the user.",
        _ if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            "It is a link, or part of a circle of links; name the file itself."
        }
        io::ErrorKind::ResourceBusy => {
            "It is mounted by itself and cannot be replaced; change its content in place with bash."
        }
        _ if [Errno::EMFILE, Errno::ENFILE].contains(&Errno::from_raw(error.raw_os_error().unwrap_or_default())) => {
            "Send fewer calls at once; if it fails again, tell the user to raise the limit on open files (ulimit -n)."
        }
        io::ErrorKind::InvalidFilename => "The name is too long or not allowed on this disk; use a shorter one.",
        _ => "Nothing was changed; try once more, and if it fails again tell the user.",
    };
    ToolError::new(code, format!("cannot {action} {shown}: {}. {advice}", plain(error)))
}

/// The system's words without the number Rust adds.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_io_with_advice() {
        let check = |errno: Errno, expected: &str| {
            let error = file_error("a.txt", "open", &errno.into());
            assert_eq!((error.code, error.message.as_str()), (ErrorCode::Io, expected));
        };
        check(
            Errno::EACCES,
            "cannot open a.txt: permission denied. Its permissions do not allow it; look with `ls -l` in bash, and ask the \
             user before changing them.",
        );
        check(
            Errno::EBUSY,
            "cannot open a.txt: device or resource busy. It is mounted by itself and cannot be replaced; change its content \
             in place with bash.",
        );
        check(
            Errno::EMFILE,
            "cannot open a.txt: too many open files. Send fewer calls at once; if it fails again, tell the user to raise \
             the limit on open files (ulimit -n).",
        );
    }
}
