//! Names as every API takes them.

use std::borrow::Cow;

/// Longest tool name an API takes.
const MAX_NAME: usize = 64;

/// Most bytes of a name or id that a server gives. Those in use have less than a hundred.
pub(crate) const LONGEST_NAME: usize = 512;

/// The beginning of a name, and all of any that is one.
pub(crate) fn cut_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// A tool name that a request may hold.
///
/// Tools have such names anyway; a model may still have called one that does not exist, and strict servers would refuse
/// the whole history for it.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain = name.chars().map(|c| if c.is_ascii() && is_plain(c as u8) { c } else { '_' });
    Cow::Owned(plain.take(MAX_NAME).collect())
}

/// A call id of `[A-Za-z0-9_-]` alone; other bytes become `_` and their hex code, so different ids stay different.
pub(crate) fn call_id(id: &str) -> Cow<'_, str> {
    if id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let mut plain = String::with_capacity(id.len() + 8);
    for byte in id.bytes() {
        if is_plain(byte) {
            plain.push(byte as char);
        } else {
            plain.push_str(&format!("_{byte:02x}"));
        }
    }
    Cow::Owned(plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_become_plain() {
        for (name, expected) in
            [("read", "read"), ("repo.read file", "repo_read_file"), ("größe", "gr__e"), ("", "unnamed")]
        {
            assert_eq!(tool_name(name), expected);
        }
        assert_eq!(tool_name(&"x".repeat(70)).len(), 64);
        for (id, expected) in [("call_1-a", "call_1-a"), ("functions.read:0", "functions_2eread_3a0")] {
            assert_eq!(call_id(id), expected);
        }
    }
}
