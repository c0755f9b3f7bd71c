//! LLM decoding, replayed: the allreduces of a model whose layers are spread over ranks (tensor parallelism), token by token.
//!
//! Each layer ends its attention and its feed-forward part with the sum of all ranks' vectors, as long as the model is wide, in bfloat16
//! (Shoeybi and others, *Megatron-LM*, 2019, figure 3): two allreduces a layer. The next begins when it has the sum, so nothing hides
//! what a call takes. After the last layer each rank has the likeliest token of its part of the vocabulary, and an allgather decides.
//! No model is computed: vectors follow from the token by a formula, whose sums are known, and every one is checked.
//!
//! Run: `cargo run --release -p allhands --example llm_decode -- 4 model=codellama-34b tokens=50`, or
//! `allhands run -n 4 -- target/release/examples/llm_decode model=llama-3.1-405b`

mod common;

use allhands::half::bf16;
use allhands::{Communicator, Sum};
use bytemuck::{Pod, Zeroable};
use common::{Arguments, Failure, Meter, ensure, within};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the traffic of a model follows from: `hidden_size` and `num_hidden_layers` of its config.json on huggingface.co.
struct Model {
    name: &'static str,
    width: usize,
    layers: usize,
}

const fn model(name: &'static str, width: usize, layers: usize) -> Model {
    Model {
        name,
        width,
        layers,
    }
}

/// In the order of their widths. Several have 48 layers, so 96 allreduces a token.
static MODELS: [Model; 9] = [
    // meta-llama/Llama-3.2-3B
    model("llama-3.2-3b", 3072, 28),
    // google/gemma-3-12b-it
    model("gemma-3-12b", 3840, 48),
    // meta-llama/Llama-3.1-8B
    model("llama-3.1-8b", 4096, 32),
    // Qwen/Qwen2.5-14B
    model("qwen2.5-14b", 5120, 48),
    // mistralai/Mixtral-8x22B-v0.1
    model("mixtral-8x22b", 6144, 56),
    // codellama/CodeLlama-34b-hf
    model("codellama-34b", 8192, 48),
    // meta-llama/Llama-3.1-70B
    model("llama-3.1-70b", 8192, 80),
    // No file: Brown and others, Language Models are Few-Shot Learners (2020), table 2.1
    model("gpt-3", 12288, 96),
    // meta-llama/Llama-3.1-405B
    model("llama-3.1-405b", 16384, 126),
];

/// The tokens that there are.
const VOCABULARY: usize = 32_768;

#[derive(Clone, Copy)]
struct Settings {
    model: &'static Model,
    tokens: usize,
    /// Sequences that are decoded together.
    batch: usize,
}

fn main() -> ExitCode {
    common::start("llm_decode", || {
        let mut arguments = Arguments::of_program()?;
        let settings = Settings {
            model: arguments.take("model", of_name("codellama-34b")?, of_name)?,
            tokens: arguments.take("tokens", 50, within(1..=1_000_000))?,
            batch: arguments.take("batch", 1, within(1..=256))?,
        };
        arguments.run(|comm| run(comm, &settings))
    })
}

fn of_name(name: &str) -> Result<&'static Model, String> {
    let names = MODELS.each_ref().map(|model| model.name).join(", ");
    let found = MODELS.iter().find(|model| model.name == name);
    found.ok_or_else(|| format!("one of {names}"))
}

/// A token, and how likely it is.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Likely {
    score: u32,
    token: u32,
}

fn run(comm: &Communicator, settings: &Settings) -> Result<(), Failure> {
    // Sums of so small numbers are exact in bfloat16, which has 8 bits for them, in any order.
    ensure(comm.size() <= 64, || {
        format!(
            "{} ranks: sums are exact, and so can be checked, of up to 64",
            comm.size()
        )
    })?;
    let mut vector = vec![bf16::ZERO; settings.model.width * settings.batch];
    let mut meter = Meter::new(comm, None)?;
    let mut tokens = vec![Duration::ZERO; settings.tokens];
    let mut calls = Vec::with_capacity(settings.tokens * 2 * settings.model.layers);
    let mut token = 1;
    for took in &mut tokens {
        // Without what the replay itself takes: to make vectors and to check sums.
        let before = calls.len();
        for part in 0..2 * settings.model.layers {
            calls.push(layer(comm, &mut meter, &mut vector, token, part)?);
        }
        let (next, agreed) = next_token(comm, &mut meter, token)?;
        *took = calls[before..].iter().sum::<Duration>() + agreed;
        token = next;
    }
    meter.report()?;
    report(comm, settings, &mut tokens, &mut calls)
}

/// Number `at` of a rank's vector: up to 4.
fn number(token: u32, part: usize, rank: usize, at: usize) -> usize {
    let place = token as usize * 7 + part * 3 + at;
    (place + rank * 2) % 5
}

/// One allreduce, and the check of all its sums; what the call took.
fn layer(
    comm: &Communicator,
    meter: &mut Meter<'_>,
    vector: &mut [bf16],
    token: u32,
    part: usize,
) -> Result<Duration, Failure> {
    const NUMBERS: [f32; 5] = [0.0, 1.0, 2.0, 3.0, 4.0];
    let numbers = NUMBERS.map(bf16::from_f32);
    // What a number is depends on its place modulo 5 alone.
    let mine: [bf16; 5] = std::array::from_fn(|at| numbers[number(token, part, comm.rank(), at)]);
    let sums: [bf16; 5] = std::array::from_fn(|at| {
        let of_rank = |rank| number(token, part, rank, at);
        bf16::from_f32((0..comm.size()).map(of_rank).sum::<usize>() as f32)
    });
    for piece in vector.chunks_mut(5) {
        piece.copy_from_slice(&mine[..piece.len()]);
    }
    let bytes = size_of_val(vector);
    let begun = Instant::now();
    meter.call("allreduce", &[bytes], |comm| {
        comm.allreduce_in_place(vector, Sum)
    })?;
    let took = begun.elapsed();
    let wrong = vector.chunks(5).position(|p| *p != sums[..p.len()]);
    ensure(wrong.is_none(), || {
        let at = 5 * wrong.unwrap_or_default();
        let found = &vector[at..vector.len().min(at + 5)];
        format!("token {token}, allreduce {part}: from {at} on {found:?} instead of {sums:?}")
    })?;
    Ok(took)
}

/// How likely a token is after another.
fn score(last: u32, token: u32) -> u32 {
    (last.wrapping_mul(31) ^ token).wrapping_mul(0x9e37_79b1) >> 8
}

/// The likeliest token of those that rank `rank` of `ranks` scores; of several the first.
fn likeliest(last: u32, rank: usize, ranks: usize) -> Likely {
    let mine = common::share(VOCABULARY, rank, ranks);
    let scored = mine.map(|token| Likely {
        score: score(last, token as u32),
        token: token as u32,
    });
    let none = Likely::zeroed();
    scored.reduce(first_of_best).unwrap_or(none)
}

fn first_of_best(best: Likely, other: Likely) -> Likely {
    if other.score > best.score {
        other
    } else {
        best
    }
}

/// The likeliest of all tokens, which all ranks must agree on, and what that call took.
fn next_token(
    comm: &Communicator,
    meter: &mut Meter<'_>,
    last: u32,
) -> Result<(u32, Duration), Failure> {
    let mine = likeliest(last, comm.rank(), comm.size());
    let begun = Instant::now();
    let all = meter.call("allgather", &[size_of_val(&mine)], |comm| {
        comm.allgather_value(mine)
    })?;
    let took = begun.elapsed();
    let found = all.into_iter().reduce(first_of_best).unwrap_or(mine);
    let right = likeliest(last, 0, 1);
    ensure(found == right, || {
        format!("after token {last} comes {right:?}, not {found:?}")
    })?;
    Ok((found.token, took))
}

/// Rank 0 prints what it took, the middle one and the worst of a hundred.
fn report(
    comm: &Communicator,
    settings: &Settings,
    tokens: &mut [Duration],
    calls: &mut [Duration],
) -> Result<(), Failure> {
    tokens.sort_unstable();
    calls.sort_unstable();
    let us = |times: &[Duration], hundredth: usize| {
        times[(times.len() - 1) * hundredth / 100].as_secs_f64() * 1e6
    };
    if comm.rank() == 0 {
        let Settings {
            model,
            tokens: count,
            batch,
        } = settings;
        println!(
            "{}: {count} tokens of {} allreduces of {} bytes on {} ranks: every sum and every token is right",
            model.name,
            2 * model.layers,
            2 * model.width * batch,
            comm.size()
        );
        println!(
            "us a token {:.0} (99 %: {:.0}), us a call {:.2} (99 %: {:.2}), rank 0's medians",
            us(tokens, 50),
            us(tokens, 99),
            us(calls, 50),
            us(calls, 99)
        );
    }
    Ok(())
}
