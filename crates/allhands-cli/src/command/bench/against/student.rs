//! Student's distribution of whole degrees of freedom.

/// How likely it is that t is more than this, by so many degrees of freedom: the finite series of Abramowitz and Stegun, 26.7.3 and
/// 26.7.4. Right to about 1e-15, so what is less likely than that is 0 or nearly.
pub fn above(t: f64, freedom: usize) -> f64 {
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    // The powers of the cosine go up in twos to the degrees of freedom less two, from 1 or from 0.
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut power = if is_odd { 1 } else { 0 };
    while power + 2 <= freedom {
        sum += term;
        let next = power as f64;
        term *= cosine * cosine * (next + 1.0) / (next + 2.0);
        power += 2;
    }
    let within = match is_odd {
        true => std::f64::consts::FRAC_2_PI * (angle + sine * sum),
        false => sine * sum,
    };
    let outside = (1.0 - within).max(0.0) / 2.0;
    if t >= 0.0 { outside } else { 1.0 - outside }
}

/// The t that is exceeded so often, less than half of the time.
pub fn exceeded(how_often: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while above(high, freedom) > how_often && high < 1e9 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        match above(middle, freedom) > how_often {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_students_t_is_found_again() {
        // t that is exceeded in 2.5 and in 0.5 of 100 cases, from tables.
        let table = [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (5, 2.571, 4.032),
            (10, 2.228, 3.169),
            (30, 2.042, 2.750),
            (1000, 1.962, 2.581),
        ];
        for (freedom, one, other) in table {
            for (how_often, t) in [(0.025, one), (0.005, other)] {
                let found = exceeded(how_often, freedom);
                assert!((found - t).abs() < 0.002, "{freedom}: {found}, not {t}");
                assert!((above(found, freedom) - how_often).abs() < 1e-9);
                assert!((above(-found, freedom) - (1.0 - how_often)).abs() < 1e-9);
            }
        }
    }
}
