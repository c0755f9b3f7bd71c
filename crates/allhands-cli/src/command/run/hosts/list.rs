//! The list of hosts: `a,b:4` is one rank on host a and four on host b.

use std::fmt;
use std::str::FromStr;

/// A host, and how many ranks it is to have, if that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub ranks: Option<u32>,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        let wrong = || format!("'{text}' is no host; right would be NAME or NAME:RANKS, as in b:4");
        // `[fd00::1]:4`, or the same without a number, or several colons of an address alone.
        let (name, ranks) = match text.rsplit_once(':') {
            Some((name, ranks)) if !name.contains(':') || name.ends_with(']') => {
                (name, Some(ranks))
            }
            _ => (text, None),
        };
        let ranks = match ranks {
            None => None,
            Some(ranks) => {
                let ranks = ranks.parse().ok().filter(|ranks: &u32| *ranks > 0);
                Some(ranks.ok_or_else(wrong)?)
            }
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        // What begins with a dash would be an option of the launcher's.
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
            return Err(wrong());
        }
        let name = name.to_string();
        Ok(Host { name, ranks })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks {
            Some(ranks) if self.name.contains(':') => write!(f, "[{}]:{ranks}", self.name),
            Some(ranks) => write!(f, "{}:{ranks}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The ranks of each host: in the order of the list, and those of a host that is named twice together.
///
/// # Errors
/// If their number is another than was said.
pub fn places(hosts: &[Host], ranks: Option<u32>) -> anyhow::Result<Vec<(String, Vec<u32>)>> {
    let said: u64 = hosts
        .iter()
        .map(|host| u64::from(host.ranks.unwrap_or(0)))
        .sum();
    let open = hosts.iter().filter(|host| host.ranks.is_none()).count() as u64;
    let all = match ranks {
        None => said + open,
        Some(ranks) => {
            let ranks = u64::from(ranks);
            anyhow::ensure!(
                ranks >= said + open && (open > 0 || ranks == said),
                "--hosts have {} ranks, not the {ranks} of -n",
                said + open
            );
            ranks
        }
    };
    let shared = all - said;
    let (mut places, mut next, mut opened): (Vec<(String, Vec<u32>)>, u32, u64) =
        (Vec::new(), 0, 0);
    for host in hosts {
        let count = match host.ranks {
            Some(ranks) => ranks,
            None => {
                // The first ones have one more where it cannot be even.
                opened += 1;
                (shared / open + u64::from(opened <= shared % open)) as u32
            }
        };
        let own = next..next + count;
        next += count;
        match places.iter_mut().find(|(name, _)| *name == host.name) {
            Some((_, ranks)) => ranks.extend(own),
            None => places.push((host.name.clone(), own.collect())),
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str, ranks: Option<u32>) -> anyhow::Result<Vec<(String, Vec<u32>)>> {
        let hosts = list.split(',').map(|host| host.parse().expect("a host"));
        places(&hosts.collect::<Vec<Host>>(), ranks)
    }

    fn counts(list: &str, ranks: Option<u32>) -> Vec<usize> {
        let places = of(list, ranks).expect("a list");
        places.iter().map(|(_, ranks)| ranks.len()).collect()
    }

    #[test]
    fn hosts_are_read() {
        let host = |text: &str| text.parse::<Host>().map(|host| (host.name, host.ranks));
        assert_eq!(host("a"), Ok(("a".into(), None)));
        assert_eq!(host("me@b:4"), Ok(("me@b".into(), Some(4))));
        assert_eq!(host("[fd00::1]:2"), Ok(("fd00::1".into(), Some(2))));
        assert_eq!(host("fd00::1"), Ok(("fd00::1".into(), None)));
        for wrong in ["", ":3", "a:0", "a:x", "-oProxyCommand=x", "a b"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranks_are_placed_in_the_order_of_the_list() {
        assert_eq!(counts("a,b:4", None), [1, 4]);
        assert_eq!(counts("a,b", Some(5)), [3, 2]);
        assert_eq!(counts("a,b:4,c", Some(7)), [2, 4, 1]);
        assert_eq!(counts("a:2,b:2", Some(4)), [2, 2]);
        let twice = of("a:2,b,a:1", None).expect("a list");
        assert_eq!(twice, [("a".into(), vec![0, 1, 3]), ("b".into(), vec![2])]);
        for (list, ranks) in [("a:2,b:2", 5), ("a:2,b:2", 3), ("a,b,c", 2)] {
            let error = of(list, Some(ranks)).expect_err("too few or too many");
            assert!(error.to_string().contains("of -n"), "{error}");
        }
    }
}
