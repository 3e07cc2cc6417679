//! What to start: a trusted image, its arguments and the name of the scheduler.

use schedkit_core::ImageRef;
use schedkit_image::signature::Trusted;

/// The arguments are stored in a label, and runtimes limit the length of labels.
const MAX_ARGS: usize = 3000;

/// Everything that a driver needs to know to create a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    scheduler: String,
    requested: ImageRef,
    image: Trusted,
    args: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    #[error(
        "the scheduler's arguments have {0} bytes, and {MAX_ARGS} is the limit: put them into \
         a file that the scheduler reads"
    )]
    ArgsTooLong(usize),
    #[error("the scheduler's arguments contain a zero byte")]
    ZeroByte,
}

impl Launch {
    /// `scheduler` is its name, such as `scx_lavd`; `requested` the reference before it was pinned.
    ///
    /// # Errors
    /// When the arguments are too long or contain a zero byte.
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
        if length > MAX_ARGS {
            return Err(LaunchError::ArgsTooLong(length));
        }
        Ok(Self {
            scheduler,
            requested,
            image,
            args,
        })
    }

    pub fn scheduler(&self) -> &str {
        &self.scheduler
    }

    /// The reference before it was pinned.
    pub fn requested(&self) -> &ImageRef {
        &self.requested
    }

    pub fn image(&self) -> &Trusted {
        &self.image
    }

    /// Appended to the image's entrypoint.
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
    fn invalid_arguments_are_refused() {
        assert_eq!(with(&["a\0b"]), Err(LaunchError::ZeroByte));
        let quotes_and_brackets = 4;
        let longest = "x".repeat(MAX_ARGS - quotes_and_brackets);
        assert_eq!(with(&[&longest]).unwrap().args(), [longest.as_str()]);
        let longer = format!("{longest}x");
        let error = with(&[&longer]).unwrap_err();
        assert_eq!(error, LaunchError::ArgsTooLong(MAX_ARGS + 1));
        assert!(error.to_string().contains("put them into a file"));
        assert!(with(&["two parts", "line\nbreak", ""]).is_ok());
    }
}
