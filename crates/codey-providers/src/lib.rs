//! How bytes from model servers become stream events.
