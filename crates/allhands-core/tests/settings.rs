//! Settings that a user can type: at the edges of what a key may be, every algorithm is right, or says that it does not serve the call.

use allhands_core::algorithm::{self, Algorithm, Values};
use allhands_core::call::Call;
use allhands_core::machine::Nodes;
use allhands_core::verify::verify;

/// Beyond this a schedule is long, and no longer one of another kind.
const MOST: u32 = 40;

/// Values of a key as they are typed: its least ones, some between, and the greatest that is not long.
fn typed(values: Values) -> Vec<String> {
    let within = |min: u32, max: u32| {
        let all = [min, min + 1, 3, 5, 7, MOST];
        all.into_iter().filter(move |n| (min..=max).contains(n))
    };
    match values {
        Values::Range { min, max } => within(min, max).map(|n| n.to_string()).collect(),
        Values::ZeroOr { min, max } => {
            let numbers = std::iter::once(0).chain(within(min, max));
            numbers.map(|n| n.to_string()).collect()
        }
        Values::Names(names) => names.iter().map(ToString::to_string).collect(),
    }
}

fn try_setting(algorithm: &Algorithm, ranks: u32, setting: &str) {
    let call = Call::new(algorithm.collective, ranks);
    let text = format!("{} {} {setting} p={ranks}", call.collective, algorithm.name);
    let Ok(shape) = algorithm.shape(call, setting) else {
        panic!("{text}: it may be typed");
    };
    let nodes = if ranks.is_multiple_of(2) {
        Nodes::even(ranks / 2, 2)
    } else {
        Nodes::one()
    };
    let shape = shape.on(nodes).with(algorithm.fabrics());
    if algorithm.admits(&shape).is_ok() {
        let verified = verify(algorithm, &shape);
        verified.unwrap_or_else(|failure| panic!("{text}: {failure}"));
    }
}

#[test]
fn every_setting_that_can_be_typed_is_right_or_refused() {
    for algorithm in algorithm::all() {
        for key in algorithm.keys {
            for value in typed(key.values) {
                for ranks in [1, 2, 4, 5] {
                    try_setting(algorithm, ranks, &format!("{}={value}", key.name));
                }
            }
        }
    }
}

#[test]
fn a_radix_of_one_is_refused_with_what_would_be_right() {
    for algorithm in algorithm::all().filter(|found| found.keys.iter().any(|k| k.name == "radix")) {
        let refused = algorithm.shape(Call::new(algorithm.collective, 4), "radix=1");
        let error = refused.expect_err(algorithm.name).to_string();
        assert_eq!(error, "radix cannot be '1'; it is one of 0|2..1048576");
    }
}
