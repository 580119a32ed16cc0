//! Which files the model knows.

use std::collections::BTreeMap;

use codey_protocol::{RelPath, Seen};

use crate::PathState;

/// The files the model has read or written on this path, by the newest version it knows, sorted by path.
///
/// A file is visible while the path still shows that version. Nothing here is remembered elsewhere: after a rewind, a
/// resume or a fold it is simply asked again.
pub fn seen(path: &PathState) -> Vec<Seen> {
    let mut newest: BTreeMap<&RelPath, Seen> = BTreeMap::new();
    for observation in path.observations() {
        let observed = &observation.observed;
        let earlier = newest.get(&observed.path).is_some_and(|seen| seen.visible && seen.digest == observed.digest);
        let visible = observation.visible || earlier;
        newest.insert(&observed.path, Seen { path: observed.path.clone(), digest: observed.digest.clone(), visible });
    }
    newest.into_values().collect()
}
