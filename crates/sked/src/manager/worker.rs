//! Works off a queue, several keys at a time, until asked to stop; what is begun then is finished.

use std::future::Future;
use std::num::NonZeroUsize;

use sked_plan::ObjectKey;
use tokio::task::JoinSet;

use crate::queue::Queue;
use crate::stop::Stop;

/// Whoever works on a key says when it is done.
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
            () = stop.asked() => break,
            Some(_) = tasks.join_next() => {}
            key = queue.next(), if tasks.len() < concurrency.get() => {
                tasks.spawn(work(key));
            }
        }
    }
    while tasks.join_next().await.is_some() {}
}
