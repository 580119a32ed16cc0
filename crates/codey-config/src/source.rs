//! Where a text of settings comes from, and how a file becomes one.

use std::fmt;
use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ConfigError, Position, one_line};

/// Larger files are no settings; reading them would only cost memory.
const MAX_BYTES: u64 = 1 << 20;

/// Names who set a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program itself.
    Defaults,
    /// A file.
    File(PathBuf),
    /// An environment variable, by name.
    Env(String),
    /// A command line flag, as typed, with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => f.write_str("defaults"),
            Self::File(path) => path.display().fmt(f),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Says who may be able to read a file of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Shared,
    /// Its owner alone, since it holds secrets; errors about it quote none of its values.
    OwnerOnly,
}

/// A text of settings and its origin.
#[derive(Debug)]
pub(crate) struct Source {
    pub origin: Origin,
    /// Without a byte order mark; empty if the origin is no text.
    pub text: String,
    pub access: Access,
}

impl Source {
    /// Reads the file at `path`; `None` if there is none.
    pub fn read(path: &Path, access: Access) -> Result<Option<Self>, ConfigError> {
        let origin = || Origin::File(path.to_owned());
        let wrong = |message: &str, hint: &str| Err(ConfigError::whole(origin(), message, Some(hint.to_owned())));
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(_) => wrong("is a link to a file that does not exist", "correct or remove the link"),
                    Err(_) => Ok(None),
                };
            }
            Err(error) => return Err(unreadable(origin(), &error)),
        };
        if metadata.is_dir() {
            return wrong("is a folder, expected a file", "rename or remove the folder");
        }
        if !metadata.is_file() {
            return wrong("is not a regular file", "put a regular file or a link to one here");
        }
        let mode = metadata.permissions().mode() & 0o777;
        if access == Access::OwnerOnly && mode & 0o077 != 0 {
            let message = format!("others can access this file (mode {mode:03o}), and it holds secrets");
            let hint = format!("run: chmod 600 {}", one_line(&path.display().to_string()));
            return Err(ConfigError::whole(origin(), message, Some(hint)));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(origin(), &error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return wrong("is larger than 1 MiB", "settings are small; is this the right file?");
        }
        let text = decode(&bytes, origin())?.to_owned();
        Ok(Some(Self { origin: origin(), text, access }))
    }
}

fn unreadable(origin: Origin, error: &io::Error) -> ConfigError {
    let (reason, hint) = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), "check the permissions of the file and of its folders")
        }
        io::ErrorKind::NotADirectory => {
            ("a folder of its path is a file".to_owned(), "correct the path, or move that file out of the way")
        }
        _ => (error.to_string(), "check the file and its folders"),
    };
    ConfigError::whole(origin, format!("cannot be read: {reason}"), Some(hint.to_owned()))
}

fn decode(bytes: &[u8], origin: Origin) -> Result<&str, ConfigError> {
    let hint = Some("save the file as UTF-8".to_owned());
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ConfigError::whole(origin, "is UTF-16, expected UTF-8", hint));
    }
    match str::from_utf8(bytes) {
        Ok(text) => Ok(without_mark(text)),
        Err(error) => {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            let valid = without_mark(str::from_utf8(valid).expect("valid_up_to ends a valid prefix"));
            let position = Some(Position::of(valid, valid.len()));
            let message = format!("is not UTF-8: unexpected byte 0x{:02x} at offset {}", rest[0], error.valid_up_to());
            Err(ConfigError { position, ..ConfigError::whole(origin, message, hint) })
        }
    }
}

/// Strips the byte order mark, which some editors write and TOML does not need.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Where something was written.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub source: Arc<Source>,
    /// The first byte in the source's text; `None` if the origin is no text.
    pub offset: Option<usize>,
}

impl Place {
    pub fn position(&self) -> Option<Position> {
        self.offset.map(|offset| Position::of(&self.source.text, offset))
    }

    pub fn error(&self, key: String, message: &str, hint: Option<String>) -> ConfigError {
        ConfigError {
            position: self.position(),
            key,
            hint: hint.map(|hint| one_line(&hint)),
            ..ConfigError::whole(self.source.origin.clone(), message, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Not with a real file: the superuser may read every file, and tests may run as one.
    #[test]
    fn a_file_without_read_permission_is_an_error() {
        let error = unreadable(Origin::File("c.toml".into()), &io::ErrorKind::PermissionDenied.into());
        assert_eq!(error.to_string(), "c.toml: cannot be read: permission denied");
        assert_eq!(error.hint.as_deref(), Some("check the permissions of the file and of its folders"));
    }
}
