//! Numbers of ranks as the user types them: `8`, `2,4`, `1-64`, `1..=64`.

/// A list of numbers of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks(pub Vec<u32>);

/// More ranks than any machine that is planned for.
const MOST: u32 = 1 << 20;

impl std::str::FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Ranks, String> {
        let mut all = Vec::new();
        for part in text.split(',') {
            all.extend(range(part.trim())?);
        }
        Ok(Ranks(all))
    }
}

fn range(text: &str) -> Result<std::ops::RangeInclusive<u32>, String> {
    let number = |text: &str| {
        let wrong = || {
            format!(
                "'{text}' is no number of ranks; type 8, 2,4,8, 1-64 or 1..=64, with numbers from 1 to {MOST}"
            )
        };
        text.trim()
            .parse::<u32>()
            .ok()
            .filter(|n| (1..=MOST).contains(n))
            .ok_or_else(wrong)
    };
    let (first, last) = if let Some((first, last)) = text.split_once("..=") {
        (number(first)?, number(last)?)
    } else if let Some((first, end)) = text.split_once("..") {
        (number(first)?, number(end)?.saturating_sub(1))
    } else if let Some((first, last)) = text.split_once('-') {
        (number(first)?, number(last)?)
    } else {
        (number(text)?, number(text)?)
    };
    if first > last {
        return Err(format!(
            "the range '{text}' is empty: its first number is greater than its last"
        ));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let read = |text: &str| text.parse::<Ranks>().map(|r| r.0);
        assert_eq!(read("8"), Ok(vec![8]));
        assert_eq!(read("2,4"), Ok(vec![2, 4]));
        assert_eq!(read("1-3, 8"), Ok(vec![1, 2, 3, 8]));
        assert_eq!(read("1..=3"), Ok(vec![1, 2, 3]));
        assert_eq!(read("1..3"), Ok(vec![1, 2]));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("0", "'0' is no number"),
            ("4-2", "is empty"),
            ("", "'' is no number"),
            ("x", "'x' is no"),
        ] {
            let error = text.parse::<Ranks>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
