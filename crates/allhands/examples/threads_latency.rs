//! Measures what short messages cost between threads: `threads_latency [RANKS] [BYTES] [CALLS]`.

use allhands::element::TypeSignature;
use allhands::operator::{Operator, Sum};
use allhands::transport::{AlignedBytes, Combine, Signature};
use allhands::transport::{Buffers, Endpoint, RequestState, spawn};
use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::progress::Cursor;
use allhands_core::schedule::{Layout, Plan};
use std::time::{Duration, Instant};

unsafe fn add(_: *const (), l: *const u8, r: *const u8, out: *mut u8, n: usize) {
    let (l, r, out) = (l.cast::<u64>(), r.cast::<u64>(), out.cast::<u64>());
    for i in 0..n {
        // SAFETY: the transport gives runs of `n` aligned elements.
        unsafe { *out.add(i) = (*l.add(i)).wrapping_add(*r.add(i)) };
    }
}

/// A rank's own part of the measurement: the time of `calls` allreduces.
fn measure(endpoint: &mut Endpoint, elements: usize, calls: u32) -> Duration {
    let call = Call::new(Collective::Allreduce, endpoint.ranks());
    let algorithm = algorithm::find(call.collective, "recursive-doubling").expect("registered");
    let shape = algorithm.shape(call, "").expect("no parameters");
    let schedule = algorithm.schedule(&shape, endpoint.rank());
    let plan = Plan::lower(&schedule, &call, &Layout::Even(elements), 8).expect("lowers");
    let stamp = endpoint.stamp(&Signature {
        collective: call.collective,
        algorithm: algorithm.name.into(),
        root: 0,
        bytes: 8 * elements as u64,
        element: Some(TypeSignature::of::<u64>()),
        operator: Some(Operator::<u64>::signature(&Sum)),
    });
    let mut cursor = Cursor::new(&plan);
    let [input, output] = [0, 1].map(|space| AlignedBytes::zeroed(plan.space_bytes[space]));
    // SAFETY: `add` keeps to its runs.
    let combine = unsafe { Combine::new(8, add, std::ptr::null()) };
    // After the buffers, so that it is dropped before them.
    let mut request = RequestState::new(endpoint, &plan, 0, &stamp).expect("no window");
    let mut start = Instant::now();
    for number in 0..calls + calls / 10 {
        if number == calls / 10 {
            start = Instant::now();
        }
        cursor.reset(&plan);
        let buffers = Buffers {
            input: input.address(),
            output: output.address(),
        };
        // SAFETY: buffers as long as the plan says, which outlive the request; its own plan and cursor.
        unsafe { endpoint.begin(&mut request, &stamp, buffers, Some(combine)) }.expect("begins");
        endpoint
            .wait(&mut request, &plan, &mut cursor)
            .expect("completes");
    }
    start.elapsed()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u32>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (ranks, bytes, calls) = (next(2), next(8), next(100_000));
    let times = spawn(ranks, |rank, segment| {
        let mut endpoint = Endpoint::new(segment, rank).expect("one endpoint a rank");
        measure(&mut endpoint, bytes as usize / 8, calls)
    });
    let longest = times.expect("no rank panics").into_iter().max();
    let nanoseconds = longest.unwrap_or_default().as_nanos() / u128::from(calls);
    println!("allreduce of {bytes} bytes, {ranks} ranks: {nanoseconds} ns a call");
}
