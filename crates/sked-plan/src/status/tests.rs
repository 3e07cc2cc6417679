//! What is said in which case.
