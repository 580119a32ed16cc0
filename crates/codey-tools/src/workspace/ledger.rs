//! Which versions of files the model has seen.

use std::collections::HashMap;

use codey_protocol::{Digest, Observed, RelPath, Seen};

/// The newest version of each file that the model read or wrote.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    files: HashMap<RelPath, Known>,
}

#[derive(Debug)]
struct Known {
    digest: Digest,
    visible: bool,
}

/// How a file stands against what the model knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The model sees this version.
    Current,
    /// It exists and was never read.
    NeverRead,
    /// Its content is not what was last read.
    Changed,
    /// What was read is this version, but no longer in the conversation.
    SummarisedAway,
    /// It was read and is gone.
    Deleted,
    /// It neither exists nor was read.
    Absent,
}

impl Ledger {
    pub(crate) fn observe(&mut self, observed: &[Observed]) {
        for Observed { path, digest } in observed {
            self.files.insert(path.clone(), Known { digest: digest.clone(), visible: true });
        }
    }

    pub(crate) fn reset(&mut self, seen: Vec<Seen>) {
        self.files = seen.into_iter().map(|Seen { path, digest, visible }| (path, Known { digest, visible })).collect();
    }

    pub(crate) fn standing(&self, path: &RelPath, current: Option<&Digest>) -> Standing {
        match (self.files.get(path), current) {
            (None, None) => Standing::Absent,
            (None, Some(_)) => Standing::NeverRead,
            (Some(_), None) => Standing::Deleted,
            (Some(known), Some(current)) if known.digest != *current => Standing::Changed,
            (Some(known), Some(_)) if known.visible => Standing::Current,
            (Some(_), Some(_)) => Standing::SummarisedAway,
        }
    }
}
