//! Futures that run side by side in the task that asks, a few at a time, each result as it comes.
//!
//! A registry answers in tens of milliseconds, and looking for signatures takes several questions:
//! asked one after another they are most of the time that `verify` takes. Nothing is spawned, so
//! whatever is still on its way when the answer is found is simply dropped.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// All of one kind, so that the whole stays `Send` when they are.
pub(super) struct Crowd<F> {
    running: Vec<Pin<Box<F>>>,
    waiting: VecDeque<Pin<Box<F>>>,
    at_once: usize,
}

impl<F: Future> Crowd<F> {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            running: Vec::new(),
            waiting: VecDeque::new(),
            at_once,
        }
    }

    pub(super) fn add(&mut self, future: F) {
        self.waiting.push_back(Box::pin(future));
    }

    /// The next result; `None` when nobody is left.
    pub(super) async fn next(&mut self) -> Option<F::Output> {
        while self.running.len() < self.at_once
            && let Some(future) = self.waiting.pop_front()
        {
            self.running.push(future);
        }
        if self.running.is_empty() {
            return None;
        }
        let done = poll_fn(|context| {
            for (position, future) in self.running.iter_mut().enumerate() {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready((position, output));
                }
            }
            Poll::Pending
        });
        let (position, output) = done.await;
        drop(self.running.remove(position));
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn results_come_as_they_are_ready_and_never_more_than_a_few_run() {
        let running = Cell::new(0);
        let most = Cell::new(0);
        let work = async |steps: usize| {
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            running.set(running.get() - 1);
            steps
        };
        let mut crowd = Crowd::new(2);
        for steps in [9, 1, 0, 3] {
            crowd.add(work(steps));
        }
        let mut order = Vec::new();
        while let Some(steps) = crowd.next().await {
            order.push(steps);
        }
        assert_eq!(order, [1, 0, 3, 9]);
        assert_eq!(most.get(), 2);
    }
}
