//! Answers: what of a program's output must be the same with and without the library, and whether it is.

/// LAMMPS's table: lines of numbers alone.
pub(super) fn thermodynamics(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_table = words.len() == 5 && words.iter().all(|word| word.parse::<f64>().is_ok());
    is_table.then(|| words.join(" "))
}

/// HPCC's summary, but for rates and times.
pub(super) fn challenged(line: &str) -> Option<String> {
    // Its PTRANS_residual is 0 or 1 by chance where ranks are left over.
    const ANSWERS: [&str; 9] = [
        "Success=",
        "CommWorldProcs=",
        "HPL_RnormI=",
        "HPL_Anorm",
        "HPL_Xnorm",
        "HPL_BnormI=",
        "MPIRandomAccess_Errors=",
        "MPIRandomAccess_LCG_Errors=",
        "MPIFFT_maxErr=",
    ];
    let is_answer = ANSWERS.iter().any(|name| line.starts_with(name));
    is_answer.then(|| line.replace('=', " "))
}

/// The energies, forces and the pressure of Quantum ESPRESSO.
pub(super) fn physics(line: &str) -> Option<String> {
    let is_answer = line.starts_with('!') || line.contains("force =") || line.contains("P=");
    is_answer.then(|| line.replace('=', " "))
}

/// What ScaLAPACK's testers tried, and whether it passed; numbers with fractions are times and rates.
pub(super) fn tested(line: &str) -> Option<String> {
    if line.contains("tests completed") || line.contains("tests skipped") {
        return Some(line.trim().to_string());
    }
    let words = line.strip_prefix("WALL")?.split_whitespace();
    Some(
        words
            .filter(|word| !word.contains('.'))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// The answers of two runs are the same: words are equal, and numbers to 1e-10 of themselves.
pub(super) fn difference(without: &[String], with: &[String]) -> Option<String> {
    if without.is_empty() {
        return Some("there are no answers".into());
    }
    if without.len() != with.len() {
        return Some(format!(
            "{} answers without it, {} with it",
            without.len(),
            with.len()
        ));
    }
    let is_same = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 1e-10 * one.abs().max(other.abs()),
        _ => one == other,
    };
    let pairs = without.iter().zip(with);
    let mut different = pairs.filter(|(one, other)| {
        let (ones, others): (Vec<_>, Vec<_>) = (
            one.split_whitespace().collect(),
            other.split_whitespace().collect(),
        );
        ones.len() != others.len()
            || !ones
                .iter()
                .zip(&others)
                .all(|(one, other)| is_same(one, other))
    });
    different
        .next()
        .map(|(one, other)| format!("'{one}' without it, '{other}' with it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_differ_only_beyond_rounding() {
        let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        let right = lines("50 1.68428652677302\npassed");
        assert_eq!(
            difference(&right, &lines("50 1.68428652677309\npassed")),
            None
        );
        assert!(difference(&right, &lines("50 1.68428652777302\npassed")).is_some());
        assert!(difference(&right, &lines("50 1.68428652677302\nFAILED")).is_some());
        assert!(difference(&right, &right[..1]).is_some());
        assert!(difference(&[], &[]).is_some());
    }

    #[test]
    fn times_are_no_answers() {
        assert_eq!(thermodynamics("Loop time of 0.777733 on 2 procs"), None);
        assert!(thermodynamics("  50  1.68 -4.8  -2.2  5.5 ").is_some());
        assert_eq!(tested("CPU   4  4 0.00 PASSED"), None);
        assert_eq!(
            tested("WALL   4  4 0.53 PASSED").as_deref(),
            Some("4 4 PASSED")
        );
        assert_eq!(challenged("HPL_Tflops=0.0044"), None);
    }
}
