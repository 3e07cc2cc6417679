//! What the judge refuses.
