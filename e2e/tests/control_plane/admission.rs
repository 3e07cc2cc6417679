//! What the API server accepts and rejects of a SchedExt, by the schema and the rules of its CRD.
//! What the operator does with an accepted one is not tested here.

mod accepted;
mod cases;
mod columns;
mod hostile;
mod limits;
mod one_rule;
mod schedext;
mod server;
