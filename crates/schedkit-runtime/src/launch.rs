//! A scheduler that is to run: which bytes, with which words, under which name.

use schedkit_core::ImageRef;
use schedkit_image::signature::Trusted;

/// Runtimes keep labels short; what is longer than this is a file's business.
const LONGEST_ARGS: usize = 3000;

/// What to start. Exactly this: nothing is left to be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    scheduler: String,
    requested: ImageRef,
    image: Trusted,
    args: Vec<String>,
}

/// Why something cannot be started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// More than a label can hold.
    #[error(
        "the scheduler's arguments have {0} bytes, and {LONGEST_ARGS} is the limit: put them into \
         a file that the scheduler reads"
    )]
    ArgsTooLong(usize),
    /// The end of a string to the kernel.
    #[error("the scheduler's arguments contain a zero byte")]
    ZeroByte,
}

impl Launch {
    /// `scheduler` is what people call it, such as `scx_lavd`; `requested` what they asked for.
    ///
    /// # Errors
    /// When the arguments are too long, or cannot be arguments.
    pub fn new(
        scheduler: String,
        requested: ImageRef,
        image: Trusted,
        args: Vec<String>,
    ) -> Result<Self, LaunchError> {
        if args.iter().any(|arg| arg.contains('\0')) {
            return Err(LaunchError::ZeroByte);
        }
        let length = serde_json::json!(args).to_string().len();
        if length > LONGEST_ARGS {
            return Err(LaunchError::ArgsTooLong(length));
        }
        Ok(Self {
            scheduler,
            requested,
            image,
            args,
        })
    }

    /// What people call it.
    pub fn scheduler(&self) -> &str {
        &self.scheduler
    }

    /// The reference that was asked for, before it was pinned.
    pub fn requested(&self) -> &ImageRef {
        &self.requested
    }

    /// The bytes.
    pub fn image(&self) -> &Trusted {
        &self.image
    }

    /// What is appended to the image's entrypoint.
    pub fn args(&self) -> &[String] {
        &self.args
    }
}

#[cfg(test)]
mod tests {
    use schedkit_core::PinnedRef;
    use schedkit_image::signature::waive;

    use super::*;

    fn with(args: &[&str]) -> Result<Launch, LaunchError> {
        let digest = format!("sha256:{:064}", 0);
        let pinned = PinnedRef::new("a.b/c".parse().unwrap(), digest.parse().unwrap());
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let image = waive(pinned, "a test").into();
        Launch::new("x".to_owned(), "a.b/c".parse().unwrap(), image, args)
    }

    #[test]
    fn arguments_that_cannot_be_kept_are_refused() {
        assert_eq!(with(&["a\0b"]), Err(LaunchError::ZeroByte));
        let quotes_and_brackets = 4;
        let longest = "x".repeat(LONGEST_ARGS - quotes_and_brackets);
        assert_eq!(with(&[&longest]).unwrap().args(), [longest.as_str()]);
        let longer = format!("{longest}x");
        let error = with(&[&longer]).unwrap_err();
        assert_eq!(error, LaunchError::ArgsTooLong(LONGEST_ARGS + 1));
        assert!(error.to_string().contains("put them into a file"));
        assert!(with(&["two words", "line\nbreak", ""]).is_ok());
    }
}
