//! What counts and what does not.
