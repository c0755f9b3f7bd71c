//! Thinned times: so many of rising ones, evenly apart, as tell how they are spread.

/// How many are kept.
const MOST: usize = 101;

/// Some of the times, from the first to the last; all where there are few.
pub fn thinned(times: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let (all, kept) = (times.len(), times.len().min(MOST));
    let mut places = (0..kept)
        .map(|at| at * (all - 1) / (kept - 1).max(1))
        .peekable();
    let is_kept = |(at, _): &(usize, f64)| places.next_if_eq(at).is_some();
    times
        .enumerate()
        .filter(is_kept)
        .map(|(_, time)| time)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_middle_and_last_are_kept() {
        for all in [0, 1, 2, 100, 101, 102, 2000] {
            let times: Vec<f64> = (0..all).map(f64::from).collect();
            let kept = thinned(times.iter().copied());
            assert_eq!(kept.len(), times.len().min(MOST));
            assert_eq!(kept.first(), times.first());
            assert_eq!(kept.last(), times.last());
            let middle = kept.get(kept.len() / 2).copied().unwrap_or(0.0);
            assert!(
                (middle - f64::from(all) / 2.0).abs() <= 1.0,
                "{all} {middle}"
            );
        }
    }
}
