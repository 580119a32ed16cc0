//! Events of a run as text or NDJSON.
