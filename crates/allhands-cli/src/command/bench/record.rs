//! A record: what was measured of a cell, as `--json` has it.

use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub collective: Cow<'static, str>,
    pub algorithm: String,
    pub ranks: u32,
    pub bytes: usize,
    pub total_bytes: usize,
    pub root: u32,
    pub iterations: usize,
    /// As the other times not a number, which is null in JSON, if nothing was measured.
    #[serde(deserialize_with = "number_or_null")]
    pub min_us: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub median_us: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub p99_us: f64,
    /// The quartiles.
    #[serde(deserialize_with = "number_or_null")]
    pub q1_us: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub q3_us: f64,
    /// The mean of each rank's own times from the common start to its own end: the least, the mean and the most of all ranks.
    #[serde(deserialize_with = "number_or_null")]
    pub rank_min_us: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub rank_avg_us: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub rank_max_us: f64,
    /// The median of rank 0's own times; not a number where the record was read.
    #[serde(skip, default = "not_a_number")]
    pub first_us: f64,
    /// The times of which the median is the record's, and those of rank 0, in microseconds: so many of them, rising and evenly apart
    /// among all, as tell how certain medians are; none where the record was read.
    #[serde(skip)]
    pub spread_us: [Vec<f64>; 2],
    pub correct: bool,
    pub transport: Cow<'static, str>,
    /// The hosts and how many ranks each has, or that they are pretended on the loopback; none where all share memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<String>,
    /// How many ranks share memory, or are told so, from the first ones on; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// By how much times may be wrong at most, as hosts have clocks of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_us: Option<f64>,
    pub machine: Cow<'static, str>,
    pub version: Cow<'static, str>,
    /// The layout, if it is not regular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The type of the elements and the operator, if they are not the usual ones.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub element: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Cow<'static, str>>,
    /// The mesh or torus that the ranks were taken to be on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torus: Option<String>,
    /// Whether every iteration had new buffers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// The medians of the rounds, if there was more than one: each round's ranks were started anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds_us: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

fn not_a_number() -> f64 {
    f64::NAN
}

fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|number| number.unwrap_or(f64::NAN))
}
