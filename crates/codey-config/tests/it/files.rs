//! A file that is absent is nothing; one that cannot be used is an error that says why.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use codey_config::{Access, Layer, Position, load};
use tempfile::TempDir;

use crate::{RULES, Settings};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Reading `path` fails with `message` after the path, and with `hint`.
fn check_refused(path: &Path, access: Access, message: &str, hint: &str) {
    let error = Layer::read(path, access).unwrap_err();
    assert_eq!(error.to_string(), format!("{}{message}", path.display()));
    assert_eq!(error.hint.as_deref(), Some(hint));
}

#[test]
fn an_absent_file_is_no_layer() {
    let folder = folder();
    assert!(Layer::read(&folder.path().join("config.toml"), Access::Shared).unwrap().is_none());
    assert!(Layer::read(&folder.path().join("absent/config.toml"), Access::Shared).unwrap().is_none());
}

#[test]
fn conf_05_a_link_to_a_file_or_folder_is_followed() {
    let folder = folder();
    fs::create_dir(folder.path().join("real")).unwrap();
    fs::write(folder.path().join("real/config.toml"), "version = 1").unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    symlink("real/config.toml", folder.path().join("config.toml")).unwrap();
    for path in ["link/config.toml", "config.toml"] {
        let layer = Layer::read(&folder.path().join(path), Access::Shared).unwrap().unwrap();
        assert_eq!(load::<Settings>(vec![layer], RULES).unwrap().value.version, Some(1));
    }
}

#[test]
fn a_dangling_link_is_not_taken_for_an_absent_file() {
    let folder = folder();
    let path = folder.path().join("config.toml");
    symlink("gone", &path).unwrap();
    check_refused(&path, Access::Shared, ": is a link to a file that does not exist", "correct or remove the link");
}

#[test]
fn a_folder_in_its_place_is_an_error() {
    let folder = folder();
    check_refused(folder.path(), Access::Shared, ": is a folder, expected a file", "rename or remove the folder");
}

#[test]
fn a_file_in_place_of_its_folder_is_an_error() {
    let folder = folder();
    fs::write(folder.path().join("app"), "").unwrap();
    check_refused(
        &folder.path().join("app/config.toml"),
        Access::Shared,
        ": cannot be read: a folder of its path is a file",
        "correct the path, or move that file out of the way",
    );
}

#[test]
fn a_device_is_not_read() {
    check_refused(
        Path::new("/dev/zero"),
        Access::Shared,
        ": is not a regular file",
        "put a regular file or a link to one here",
    );
}

#[test]
fn a_huge_file_is_not_read() {
    let folder = folder();
    let path = folder.path().join("config.toml");
    fs::write(&path, vec![b'\n'; (1 << 20) + 1]).unwrap();
    check_refused(&path, Access::Shared, ": is larger than 1 MiB", "settings are small; is this the right file?");
}

#[test]
fn invalid_utf8_is_placed() {
    let folder = folder();
    let path = folder.path().join("config.toml");
    fs::write(&path, b"version = 1\r\n# caf\xe9\n").unwrap();
    check_refused(
        &path,
        Access::Shared,
        ":2:6: is not UTF-8: unexpected byte 0xe9 at offset 18",
        "save the file as UTF-8",
    );
    let error = Layer::read(&path, Access::Shared).unwrap_err();
    assert_eq!(error.position, Some(Position { line: 2, column: 6 }));
}

#[test]
fn utf16_is_named() {
    let folder = folder();
    let path = folder.path().join("config.toml");
    fs::write(&path, b"\xff\xfev\0").unwrap();
    check_refused(&path, Access::Shared, ": is UTF-16, expected UTF-8", "save the file as UTF-8");
}

#[test]
fn a_file_of_secrets_that_others_can_access_is_refused() {
    let folder = folder();
    let path = folder.path().join("secrets.toml");
    fs::write(&path, "version = 1").unwrap();
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        check_refused(
            &path,
            Access::OwnerOnly,
            &format!(": others can access this file (mode {mode:03o}), and it holds secrets"),
            &format!("run: chmod 600 {}", path.display()),
        );
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(Layer::read(&path, Access::OwnerOnly).unwrap().is_some());
    }
}

#[test]
fn errors_about_a_file_of_secrets_quote_no_value() {
    let folder = folder();
    let path = folder.path().join("secrets.toml");
    for (text, line) in [
        ("model = \"sk-1\"", ":1:9: model: expected a table, found a string"),
        ("model.effort = \"sk-1\"", ":1:16: model.effort: unknown value, allowed: `low`, `high`"),
        ("model = sk-1", ":1:9: string values must be quoted, expected literal string"),
    ] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = match Layer::read(&path, Access::OwnerOnly) {
            Ok(layer) => load::<Settings>(layer.into_iter().collect(), RULES).unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.to_string(), format!("{}{line}", path.display()));
        assert_eq!(error.hint, None);
    }
}
