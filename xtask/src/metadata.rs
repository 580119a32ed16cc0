//! What cargo says about the workspace, for the tests that judge it.

use serde_json::Value;

use crate::{cargo, workspace_root};

/// Runs `cargo metadata` with `arguments`, without network and without touching `Cargo.lock`.
pub fn metadata(arguments: &[&str]) -> Value {
    let mut command = cargo::program();
    command.args(["metadata", "--format-version", "1", "--offline", "--locked"]).args(arguments);
    let output = command.current_dir(workspace_root()).output().unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The text at `key` of a JSON object.
pub fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// The objects of the list at `key` of a JSON object.
pub fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}
