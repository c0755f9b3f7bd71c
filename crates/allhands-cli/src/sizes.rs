//! Sizes as they are typed and printed: `8`, `64K`, `64KiB`, `1MB`. K, M and G are powers of 2 in all spellings.

/// What every command's help says of sizes.
pub const HELP: &str = "K, M and G are powers of 2, as are KB and KiB: 64K = 64KB = 64KiB = 65536";

/// Reads a number of bytes.
///
/// # Errors
/// What would be right.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size; type 8, 64K, 64KiB or 1MB ({HELP})");
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// Reads a size of elements of 8 bytes, as real and simulated calls have them.
///
/// # Errors
/// As [`parse`]; and when it is no multiple of 8 bytes, or more than 256M.
pub fn of_elements(text: &str) -> Result<usize, String> {
    let bytes = parse(text)?;
    if bytes.is_multiple_of(8) && bytes <= 256 << 20 {
        Ok(bytes as usize)
    } else {
        Err(format!(
            "'{text}' is not possible here: sizes are multiples of 8 bytes, up to 256M"
        ))
    }
}

/// A number of bytes as a person writes it.
pub fn say(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_the_same_power_of_two() {
        for text in ["64K", "64k", "64KB", "64KiB", "64kib", "65536", "65536B"] {
            assert_eq!(parse(text), Ok(65536), "{text}");
        }
        assert_eq!(parse("1MB"), Ok(1 << 20));
        assert_eq!(parse("2GiB"), Ok(2 << 30));
        for bytes in [8, 1000, 1 << 10, 3 << 20] {
            assert_eq!(parse(&say(bytes)), Ok(bytes as u64));
        }
    }

    #[test]
    fn what_is_no_size_is_named() {
        for text in [
            "",
            "K",
            "-1",
            "1.5K",
            "64 K",
            "1T",
            "64Kb it",
            "99999999999G",
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains("64KiB"), "{text}: {said}");
        }
        assert!(of_elements("3").unwrap_err().contains("multiples of 8"));
        assert!(of_elements("1G").unwrap_err().contains("up to 256M"));
        assert_eq!(of_elements("1MB"), Ok(1 << 20));
    }
}
