//! Integer arithmetic on rank counts: logarithms, powers and sums modulo `p`.

/// The largest `e` with 2^e ≤ `x`.
///
/// # Panics
/// If `x` is 0.
pub fn floor_log2(x: u32) -> u32 {
    x.ilog2()
}

/// The smallest `e` with 2^e ≥ `x`.
///
/// # Panics
/// If `x` is 0.
pub fn ceil_log2(x: u32) -> u32 {
    ceil_log(2, x)
}

/// The largest `e` with `radix`^e ≤ `x`.
///
/// # Panics
/// If `radix` is below 2 or `x` is 0.
pub fn floor_log(radix: u32, x: u32) -> u32 {
    x.ilog(radix)
}

/// The smallest `e` with `radix`^e ≥ `x`: the number of base-`radix` digits that the ranks 0..`x` need.
///
/// # Panics
/// If `radix` is below 2 or `x` is 0.
pub fn ceil_log(radix: u32, x: u32) -> u32 {
    let floor = x.ilog(radix);
    floor + u32::from(power(radix, floor) < u64::from(x))
}

/// `radix`^`exponent`; 64 bits wide because the first power above a number of ranks may not fit 32.
///
/// # Panics
/// If the power does not fit 64 bits.
pub fn power(radix: u32, exponent: u32) -> u64 {
    u64::from(radix)
        .checked_pow(exponent)
        .expect("a power beyond 64 bits has no use for 32-bit ranks")
}

/// `radix`^`exponent`, but no more than `limit`.
pub fn power_at_most(radix: u32, exponent: u32, limit: u32) -> u32 {
    let exact = u64::from(radix).saturating_pow(exponent);
    u32::try_from(exact).map_or(limit, |small| small.min(limit))
}

/// Whether `x` is 2^e for some e ≥ 0.
pub fn is_power_of_two(x: u32) -> bool {
    x.is_power_of_two()
}

/// Whether `x` is `radix`^e for some e ≥ 0.
///
/// # Panics
/// If `radix` is below 2.
pub fn is_power_of(radix: u32, x: u32) -> bool {
    x > 0 && previous_power(radix, x) == x
}

/// The largest power of `radix` that is at most `x`.
///
/// # Panics
/// If `radix` is below 2 or `x` is 0.
pub fn previous_power(radix: u32, x: u32) -> u32 {
    radix.pow(x.ilog(radix))
}

/// (`a` + `b`) mod `p`, for `a` < `p` and any `b`.
pub fn add_mod(a: u32, b: u32, p: u32) -> u32 {
    debug_assert!(a < p);
    let sum = u64::from(a) + u64::from(b % p);
    // Both summands are below p, so one subtraction brings the sum home, and the result fits.
    (if sum >= u64::from(p) {
        sum - u64::from(p)
    } else {
        sum
    }) as u32
}

/// (`a` − `b`) mod `p`, for `a` < `p` and any `b`.
pub fn sub_mod(a: u32, b: u32, p: u32) -> u32 {
    debug_assert!(a < p);
    let b = b % p;
    if a >= b { a - b } else { p - (b - a) }
}

/// The relative rank of `rank` when `root` is moved to 0: (`rank` − `root`) mod `p`.
pub fn relative(rank: u32, root: u32, p: u32) -> u32 {
    sub_mod(rank, root, p)
}

/// The rank whose relative rank is `relative`: the inverse of [`relative`].
pub fn absolute(relative: u32, root: u32, p: u32) -> u32 {
    add_mod(relative, root, p)
}

/// `value` with its lowest `bits` bits in reverse order; higher bits must be zero.
///
/// Vector halving with distance doubling leaves segment `reverse_bits(rank, lg p)` on `rank` (T 5.1).
pub fn reverse_bits(value: u32, bits: u32) -> u32 {
    debug_assert!(bits >= 32 || value >> bits == 0);
    if bits == 0 {
        0
    } else {
        value.reverse_bits() >> (32 - bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_enclose_their_argument() {
        let large = [
            u32::MAX,
            u32::MAX - 1,
            1 << 31,
            (1 << 31) + 1,
            131_072,
            65_537,
        ];
        for radix in (2..70).chain([1 << 16, u32::MAX]) {
            for x in (1..2000).chain(large) {
                let (floor, ceil) = (floor_log(radix, x), ceil_log(radix, x));
                assert!(
                    power(radix, floor) <= u64::from(x) && u64::from(x) < power(radix, floor + 1)
                );
                assert!(u64::from(x) <= power(radix, ceil));
                assert!(ceil == 0 || power(radix, ceil - 1) < u64::from(x));
                assert_eq!(u64::from(previous_power(radix, x)), power(radix, floor));
                assert_eq!(is_power_of(radix, x), floor == ceil);
            }
        }
        for x in 1..2000 {
            assert_eq!(
                (floor_log2(x), ceil_log2(x)),
                (floor_log(2, x), ceil_log(2, x))
            );
            assert_eq!(is_power_of_two(x), is_power_of(2, x));
        }
        assert!(!is_power_of(3, 0) && !is_power_of_two(0));
    }

    #[test]
    fn bounded_powers_never_exceed_the_limit() {
        assert_eq!(power_at_most(3, 2, 100), 9);
        assert_eq!(power_at_most(3, 5, 100), 100);
        assert_eq!(power_at_most(3, 4000, 100), 100);
        assert_eq!(power_at_most(2, 32, u32::MAX), u32::MAX);
    }

    #[test]
    fn sums_and_differences_are_inverse() {
        for p in 1..40 {
            for a in 0..p {
                for b in 0..3 * p {
                    assert_eq!(add_mod(a, b, p), (a + b) % p);
                    assert_eq!(add_mod(sub_mod(a, b, p), b, p), a);
                }
                for root in 0..p {
                    assert_eq!(absolute(relative(a, root, p), root, p), a);
                    assert_eq!(relative(root, root, p), 0);
                }
            }
        }
        assert_eq!(add_mod(u32::MAX - 1, u32::MAX - 1, u32::MAX), u32::MAX - 2);
        assert_eq!(sub_mod(0, u32::MAX - 1, u32::MAX), 1);
    }

    #[test]
    fn reversed_bits_are_an_involution() {
        assert_eq!(reverse_bits(0b0011, 4), 0b1100);
        assert_eq!(reverse_bits(0, 0), 0);
        assert_eq!(reverse_bits(1, 32), 1 << 31);
        for bits in 0..10 {
            for value in 0..1 << bits {
                let reversed = reverse_bits(value, bits);
                assert_eq!(reverse_bits(reversed, bits), value);
                assert!((0..bits).all(|bit| reversed >> bit & 1 == value >> (bits - 1 - bit) & 1));
            }
        }
    }
}
