//! The harness: a communicator as small as can be, on top of the threads transport.

use allhands::element::TypeSignature;
use allhands::operator::OperatorSignature;
use allhands::transport::{Buffers, Endpoint, RequestState, SharedSegment, Stamp};
use allhands::transport::{Combine, Signature, TransportError};
use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::progress::{Cursor, Status};
use allhands_core::schedule::{Layout, Plan, Schedule, Shape, Space};
use std::sync::Arc;

/// The affine map x ↦ a x + b; composition is associative and does not commute.
pub type Affine = [u32; 2];

pub fn compose(l: Affine, r: Affine) -> Affine {
    let product = l[0].wrapping_mul(r[0]);
    [product, l[0].wrapping_mul(r[1]).wrapping_add(l[1])]
}

unsafe fn compose_all(_: *const (), l: *const u8, r: *const u8, out: *mut u8, n: usize) {
    let (l, r, out) = (l.cast::<Affine>(), r.cast::<Affine>(), out.cast::<Affine>());
    for i in 0..n {
        // SAFETY: the transport promises `n` aligned elements in each run.
        unsafe { *out.add(i) = compose(*l.add(i), *r.add(i)) };
    }
}

unsafe fn panic_always(_: *const (), _: *const u8, _: *const u8, _: *mut u8, _: usize) {
    // As a panic does, but for the message, whose backtrace may take its time.
    std::panic::resume_unwind(Box::new("an operator of the user panics"));
}

pub fn composing() -> Combine {
    // SAFETY: `compose_all` keeps to its runs.
    unsafe { Combine::new(size_of::<Affine>(), compose_all, std::ptr::null()) }
}

pub fn panicking() -> Combine {
    // SAFETY: `panic_always` touches nothing.
    unsafe { Combine::new(size_of::<Affine>(), panic_always, std::ptr::null()) }
}

/// What rank `rank` contributes to call number `salt`.
pub fn data(rank: u32, elements: usize, salt: u32) -> Vec<Affine> {
    let element = |i: usize| {
        [
            2 * (rank + i as u32 + salt) + 1,
            rank * 1000 + i as u32 * 7 + salt,
        ]
    };
    (0..elements).map(element).collect()
}

/// One rank's plan, signed.
pub struct Prepared {
    pub plan: Plan,
    pub signature: Signature,
}

/// The plan of a registered algorithm.
pub fn prepare(call: Call, name: &str, rank: u32, elements: usize) -> Prepared {
    let algorithm = algorithm::find(call.collective, name).expect("registered");
    let shape = algorithm.shape(call, "").expect("no parameters");
    lower(&algorithm.schedule(&shape, rank), call, name, elements)
}

/// The plan of a schedule.
pub fn lower(schedule: &Schedule, call: Call, name: &str, elements: usize) -> Prepared {
    let layout = Layout::Even(elements);
    let plan = Plan::lower(schedule, &call, &layout, size_of::<Affine>()).expect("lowers");
    let signature = Signature {
        collective: call.collective,
        algorithm: name.into(),
        root: call.root,
        bytes: (elements * size_of::<Affine>()) as u64,
        element: Some(TypeSignature::of::<Affine>()),
        operator: call
            .collective
            .reduces()
            .then(|| OperatorSignature::user("compose", false)),
    };
    Prepared { plan, signature }
}

pub fn shape(call: Call) -> Shape {
    Shape {
        fabrics: Default::default(),
        nodes: Default::default(),
        torus: None,
        call,
        parameters: Default::default(),
    }
}

/// A call with its memory. The request comes first, so that it is dropped before its buffers.
pub struct Request {
    pub request: RequestState,
    cursor: Cursor,
    stamp: Stamp,
    prepared: Prepared,
    combine: Combine,
    pub input: Vec<Affine>,
    pub output: Vec<Affine>,
}

impl Request {
    pub fn new(endpoint: &Endpoint, prepared: Prepared, key: u64) -> Request {
        let plan = &prepared.plan;
        let elements = |s: Space| plan.space_bytes[s.index()] / size_of::<Affine>();
        let stamp = endpoint.stamp(&prepared.signature);
        Request {
            request: RequestState::new(endpoint, plan, key, &stamp)
                .expect("the same window everywhere"),
            cursor: Cursor::new(plan),
            stamp,
            combine: composing(),
            input: vec![[0; 2]; elements(Space::Input)],
            output: vec![[0; 2]; elements(Space::Output)],
            prepared,
        }
    }

    pub fn with(mut self, combine: Combine) -> Request {
        self.combine = combine;
        self
    }

    /// Begins a call with `input` (in the output, where the call is in place).
    pub fn begin(
        &mut self,
        endpoint: &mut Endpoint,
        input: &[Affine],
    ) -> Result<(), TransportError> {
        self.output.fill([7; 2]);
        if self.input.is_empty() && self.output.len() == input.len() {
            self.output.copy_from_slice(input);
        } else if !self.input.is_empty() {
            self.input.copy_from_slice(input);
        }
        self.cursor.reset(&self.prepared.plan);
        let buffers = Buffers {
            input: self.input.as_ptr().cast(),
            output: self.output.as_mut_ptr().cast(),
        };
        let combine = Some(self.combine);
        // SAFETY: the vectors are as long as the plan says, and live and unused until the request ends.
        unsafe { endpoint.begin(&mut self.request, &self.stamp, buffers, combine) }
    }

    pub fn test(&mut self, endpoint: &mut Endpoint) -> Result<Status, TransportError> {
        endpoint.test(&mut self.request, &self.prepared.plan, &mut self.cursor)
    }

    pub fn call(
        &mut self,
        endpoint: &mut Endpoint,
        input: &[Affine],
    ) -> Result<(), TransportError> {
        self.begin(endpoint, input)?;
        endpoint.wait(&mut self.request, &self.prepared.plan, &mut self.cursor)
    }
}

/// Completes request `target` while taking all along.
pub fn wait_for(
    endpoint: &mut Endpoint,
    all: &mut [Request],
    target: usize,
) -> Result<(), TransportError> {
    let call = all[target].request.call();
    endpoint.wait_until(call, |endpoint| {
        let mut wanted = Status::Pending;
        for (at, request) in all.iter_mut().enumerate() {
            let status = request.test(endpoint)?;
            if at == target {
                wanted = status;
            }
        }
        Ok(wanted)
    })
}

/// Runs `main` on every rank with an open endpoint.
pub fn run<R: Send>(ranks: u32, main: impl Fn(&mut Endpoint) -> R + Sync) -> Vec<R> {
    try_run(ranks, main).expect("nobody panics")
}

pub fn try_run<R: Send>(
    ranks: u32,
    main: impl Fn(&mut Endpoint) -> R + Sync,
) -> Result<Vec<R>, TransportError> {
    allhands::transport::spawn(ranks, |rank, segment: Arc<SharedSegment>| {
        main(&mut Endpoint::new(segment, rank).expect("one endpoint a rank"))
    })
}

/// What every rank must get from an allreduce of call number `salt`.
pub fn reduced(ranks: u32, elements: usize, salt: u32) -> Vec<Affine> {
    let mut all = data(0, elements, salt);
    for rank in 1..ranks {
        for (into, next) in all.iter_mut().zip(data(rank, elements, salt)) {
            *into = compose(*into, next);
        }
    }
    all
}

/// An allreduce whose operator does not commute.
pub fn allreduce(ranks: u32) -> Call {
    Call {
        commutative: false,
        ..Call::new(Collective::Allreduce, ranks)
    }
}

pub fn broadcast(ranks: u32, root: u32) -> Call {
    Call {
        root,
        ..Call::new(Collective::Broadcast, ranks)
    }
}
