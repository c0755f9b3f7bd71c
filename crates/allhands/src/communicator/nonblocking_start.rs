//! The nonblocking start: calls that are begun without waiting for other ranks, and say themselves that they have ended.
//!
//! It is for who takes calls further in turns with something else, such as another library's progress, and must not be held up.

use super::Operation;
use super::inner::{Active, Arrival, Checked, End, Inner, Ready};
use crate::error::Error;
use allhands_core::progress::Status;
use std::sync::Arc;

/// How often it is looked whether a call has ended as soon as it has begun: for a fraction of a microsecond.
const LOOKS: usize = 8;

/// How a call was begun.
#[derive(Debug)]
pub enum NonblockingStart {
    /// It has ended already.
    Ended,
    /// It will tell of its end here.
    UnderWay(Arc<End>),
    /// Not at all: it would have to wait for an earlier call.
    Later,
}

impl Inner {
    /// Begins the call of a rank among so many; the rest as [`Interposition::try_begin`](super::interposition::Interposition::try_begin).
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn try_begin(
        &mut self,
        operation: &Operation<'_>,
        (rank, size): (usize, usize),
        end: impl FnOnce() -> Arc<End>,
    ) -> Result<NonblockingStart, Error> {
        self.let_go();
        let Some(Ready {
            prepared,
            stamp,
            mut running,
        }) = self.ready_alone(operation, (rank, size))?
        else {
            return Ok(NonblockingStart::Later);
        };
        let port = &mut self.port;
        // SAFETY: the caller promises it for the buffers; the scratch is the running's own, which the list of active calls
        // holds until the call has ended.
        unsafe { Inner::begin(port, operation, &stamp, &mut running)? };
        let arrival = Arrival::of(operation);
        // A few looks, which cost less than to see to a call later.
        for _ in 0..LOOKS {
            let status = port.test(&mut running.flight, &prepared.plan, &mut running.cursor)?;
            if status == Status::Done {
                self.cache.give_back(&prepared, running);
                return arrival.verify().map(|()| NonblockingStart::Ended);
            }
            std::hint::spin_loop();
        }
        let end = end();
        self.keep(Active {
            prepared,
            running: Some(running),
            arrival,
            result: None,
            told: Some(Arc::clone(&end)),
        });
        Ok(NonblockingStart::UnderWay(end))
    }

    /// What a call runs with that tells nobody its counts, if that is there without waiting.
    fn ready_alone(
        &mut self,
        operation: &Operation<'_>,
        (rank, size): (usize, usize),
    ) -> Result<Option<Ready>, Error> {
        if let Some(entry) = self.cache.find(operation, None)
            && let Some(mut running) = entry.ready_turn()
        {
            let prepared = Arc::clone(&entry.prepared);
            running.cursor.reset(&prepared.plan);
            return Ok(Some(Ready {
                prepared,
                stamp: entry.stamp,
                running,
            }));
        }
        // To open another window might have to wait for ranks that have not come to one long ago.
        if !self.port.fabric().can_open(self.next_window) {
            return Ok(None);
        }
        let (call, layout) = operation.check(rank, size)?;
        let checked = Checked {
            call,
            layout,
            exchanged: false,
        };
        Ok(self.ready_now(operation, &checked)?.ok())
    }

    pub(super) fn advance(&mut self) {
        self.progress();
        self.let_go();
    }

    /// Takes back what calls had that have ended and told so.
    fn let_go(&mut self) {
        let has_told = |active: &Active| active.told.is_some() && active.result.is_some();
        for place in &mut self.active {
            let Some(ended) = place.take_if(|active| has_told(active)) else {
                continue;
            };
            if let (Some(Ok(())), Some(running)) = (ended.result, ended.running) {
                self.cache.give_back(&ended.prepared, running);
            }
        }
    }

    pub(super) fn look_out_for_all(&mut self) {
        if let Err(error) = self.port.look_out(self.oldest_call()) {
            (0..self.active.len()).for_each(|number| self.fail(number, error.clone()));
            self.let_go();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Communicator;
    use crate::interposition::Interposition;
    use crate::{Sum, operation, threads};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// Begins a call as soon as that can be; gives how often it could not.
    ///
    /// # Safety
    /// As `try_begin`.
    unsafe fn begin(comm: &Communicator, operation: &Operation<'_>, end: &Arc<End>) -> usize {
        let mut refused = 0;
        loop {
            // SAFETY: passed on.
            match unsafe { comm.try_begin(operation, || Arc::clone(end)).unwrap() } {
                NonblockingStart::Ended => end.set(Ok(())).unwrap(),
                NonblockingStart::UnderWay(_) => {}
                NonblockingStart::Later => {
                    refused += 1;
                    comm.advance();
                    std::thread::yield_now();
                    continue;
                }
            }
            return refused;
        }
    }

    /// Takes calls further until `done`.
    fn until(comm: &Communicator, done: impl Fn() -> bool) {
        while !done() {
            comm.advance();
            comm.look_out();
            std::thread::yield_now();
        }
    }

    #[test]
    fn calls_begin_while_others_have_not_come() {
        const CALLS: usize = 5;
        threads::run(3, |comm| {
            let inputs: Vec<[u64; 40]> = (0..CALLS)
                .map(|n| [n as u64 + comm.rank() as u64; 40])
                .collect();
            let mut outputs = vec![[0u64; 40]; CALLS];
            let ends: Vec<Arc<End>> = (0..CALLS).map(|_| Arc::default()).collect();
            // A rank that is late: the others find their windows taken, and do not wait.
            if comm.rank() == 2 {
                std::thread::sleep(Duration::from_millis(30));
            }
            for ((input, output), end) in inputs.iter().zip(&mut outputs).zip(&ends) {
                let operation = operation::allreduce(input, output, &Sum);
                assert!(comm.begins_alone(&operation).unwrap());
                // SAFETY: the buffers outlive the calls, which are waited for below.
                unsafe { begin(&comm, &operation, end) };
            }
            until(&comm, || ends.iter().all(|end| end.get().is_some()));
            assert!(ends.iter().all(|end| matches!(end.get(), Some(Ok(())))));
            for (n, output) in outputs.iter().enumerate() {
                assert_eq!(*output, [3 * n as u64 + 3; 40]);
            }
            assert!(!comm.is_busy());
        })
        .unwrap();
    }

    #[test]
    fn one_window_after_another_is_opened_while_a_rank_is_late() {
        const SHAPES: usize = 150;
        let begun = AtomicUsize::new(0);
        threads::run(2, |comm| {
            let inputs: Vec<Vec<u32>> = (1..=SHAPES).map(|n| vec![1; n]).collect();
            let mut outputs: Vec<Vec<u32>> = inputs.iter().map(|i| vec![0; i.len()]).collect();
            let ends: Vec<Arc<End>> = (0..SHAPES).map(|_| Arc::default()).collect();
            let (mut seen, mut now) = (0, 0);
            // The late rank comes when the other one begins no more.
            while comm.rank() == 1 && (now == 0 || now != seen) {
                std::thread::sleep(Duration::from_millis(30));
                (seen, now) = (now, begun.load(Ordering::Relaxed));
            }
            let mut refused = 0;
            for ((input, output), end) in inputs.iter().zip(&mut outputs).zip(&ends) {
                let sum = operation::allreduce(input, output, &Sum).algorithm("shared-memory");
                // SAFETY: as above.
                refused += unsafe { begin(&comm, &sum, end) };
                begun.fetch_add(1, Ordering::Relaxed);
            }
            until(&comm, || ends.iter().all(|end| end.get().is_some()));
            assert!(
                comm.rank() == 1 || refused > 0,
                "it begins as many as there is room for"
            );
            assert!(outputs.iter().all(|sums| sums.iter().all(|sum| *sum == 2)));
        })
        .unwrap();
    }

    #[test]
    fn who_has_no_call_under_way_may_look_out() {
        let ended = threads::run(2, |comm| {
            for n in 1..4 {
                comm.look_out();
                assert_eq!(comm.allreduce_value(n, Sum).unwrap(), 2 * n);
                // The next look is at everything again.
                std::thread::sleep(Duration::from_millis(5));
            }
            comm.look_out();
        });
        ended.unwrap();
    }

    #[test]
    fn an_error_is_told() {
        let ended = threads::run(2, |comm| {
            if comm.rank() == 1 {
                // It leaves before the call.
                return None;
            }
            let (input, mut output) = ([1u64; 4], [0u64; 4]);
            let end = Arc::new(End::new());
            let operation = operation::allreduce(&input, &mut output, &Sum);
            // SAFETY: the buffers outlive the call, whose end is waited for.
            unsafe { begin(&comm, &operation, &end) };
            until(&comm, || end.get().is_some());
            Some(end.get().is_some_and(Result::is_err))
        });
        assert_eq!(ended.unwrap(), [Some(true), None]);
    }
}
