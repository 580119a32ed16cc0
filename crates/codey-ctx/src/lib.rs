//! What the model sees next.
