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
