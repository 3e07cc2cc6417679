//! Runs futures concurrently in the calling task, at most a given number at a time, and returns
//! each result as it is ready.
//!
//! A registry needs tens of milliseconds per request, and finding signatures takes several: sent
//! one after another they are most of the time that `verify` takes. Nothing is spawned, so futures
//! that are still running when the result is known are simply dropped.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// All futures have one type, so the whole is `Send` when they are.
pub(super) struct BoundedConcurrency<F> {
    running: Vec<Pin<Box<F>>>,
    waiting: VecDeque<Pin<Box<F>>>,
    limit: usize,
}

impl<F: Future> BoundedConcurrency<F> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            running: Vec::new(),
            waiting: VecDeque::new(),
            limit,
        }
    }

    pub(super) fn add(&mut self, future: F) {
        self.waiting.push_back(Box::pin(future));
    }

    /// The next result; `None` when no future is left.
    pub(super) async fn next(&mut self) -> Option<F::Output> {
        while self.running.len() < self.limit
            && let Some(future) = self.waiting.pop_front()
        {
            self.running.push(future);
        }
        if self.running.is_empty() {
            return None;
        }
        let ready = poll_fn(|context| {
            for (position, future) in self.running.iter_mut().enumerate() {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready((position, output));
                }
            }
            Poll::Pending
        });
        let (position, output) = ready.await;
        drop(self.running.remove(position));
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn results_come_as_they_are_ready_and_the_limit_holds() {
        let running = Cell::new(0);
        let max = Cell::new(0);
        let work = async |steps: usize| {
            running.set(running.get() + 1);
            max.set(max.get().max(running.get()));
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            running.set(running.get() - 1);
            steps
        };
        let mut futures = BoundedConcurrency::new(2);
        for steps in [9, 1, 0, 3] {
            futures.add(work(steps));
        }
        let mut order = Vec::new();
        while let Some(steps) = futures.next().await {
            order.push(steps);
        }
        assert_eq!(order, [1, 0, 3, 9]);
        assert_eq!(max.get(), 2);
    }
}
