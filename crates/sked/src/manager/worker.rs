//! Processes the keys of a queue concurrently until a stop is requested; work that has started is
//! finished.

use std::future::Future;
use std::num::NonZeroUsize;

use sked_plan::ObjectKey;
use tokio::task::JoinSet;

use crate::manager::queue::Queue;
use crate::stop::Stop;

/// `work` must call [`Queue::done`].
pub(crate) async fn run<F>(
    queue: &Queue,
    concurrency: NonZeroUsize,
    mut stop: Stop,
    work: impl Fn(ObjectKey) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.requested() => break,
            Some(_) = tasks.join_next() => {}
            key = queue.next(), if tasks.len() < concurrency.get() => {
                tasks.spawn(work(key));
            }
        }
    }
    while tasks.join_next().await.is_some() {}
}
