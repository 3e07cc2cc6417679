//! The error of the registry client: which request, to which host, and what went wrong.
//!
//! An error never holds a URL with its query, the text of a response or a credential: a presigned
//! URL is a password, and a hostile response can repeat ours.

use std::error::Error;
use std::fmt;

use super::problem::{Problem, Retry};

/// Why a request to a registry failed.
#[derive(Debug)]
pub struct RegistryError {
    request: String,
    host: String,
    problem: Box<Problem>,
    failed_mirrors: Vec<RegistryError>,
}

impl RegistryError {
    /// `request` completes "cannot get …": an image reference, "the list of tags of …".
    pub fn new(request: impl Into<String>, host: impl Into<String>, problem: Problem) -> Self {
        Self {
            request: request.into(),
            host: host.into(),
            problem: Box::new(problem),
            failed_mirrors: Vec::new(),
        }
    }

    /// Adds the errors of the mirrors that were tried first.
    #[must_use]
    pub(super) fn after_mirrors(mut self, failed: Vec<RegistryError>) -> Self {
        self.failed_mirrors = failed;
        self
    }

    /// What was requested.
    pub fn request(&self) -> &str {
        &self.request
    }

    /// The host that the request was sent to.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    pub fn retry(&self) -> Retry {
        self.problem.retry()
    }

    /// Whether the registry and its mirrors answered that they have no such content. Any other
    /// failure, of a mirror as well, leaves open whether the content exists.
    pub fn is_not_found(&self) -> bool {
        let is_missing = matches!(*self.problem, Problem::NotFound);
        is_missing && self.failed_mirrors.iter().all(Self::is_not_found)
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            request,
            host,
            problem,
            failed_mirrors,
        } = self;
        write!(f, "cannot get {request} from {host}: {problem}")?;
        for (position, error) in failed_mirrors.iter().enumerate() {
            let before = match position {
                0 => " (its mirrors failed before: ",
                _ => "; ",
            };
            write!(f, "{before}{error}")?;
        }
        if !failed_mirrors.is_empty() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl Error for RegistryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}
