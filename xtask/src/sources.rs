//! The Rust files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

/// All `.rs` files below `folder`, sorted.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(rust_files(&path)),
            Ok(_) if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
    found.sort();
    found
}
