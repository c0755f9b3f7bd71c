//! Settings: what the environment says, as rank 0 of the world sees it, and broadcasts it.

use crate::context::call::Call;

/// The variable that turns the library off.
pub(crate) const SWITCH: &str = "ALLHANDS_MPI";
/// The variable that has every result compared with the native one.
pub(crate) const VERIFY: &str = "ALLHANDS_VERIFY";
/// The variable with who chooses algorithms.
pub(crate) const POLICY: &str = "ALLHANDS_POLICY";
/// The variable with nodes to pretend, for tests.
pub(crate) const NODES: &str = "ALLHANDS_NODES";
/// The variable with the file that the report goes to; each process reads it by itself.
pub(crate) const REPORT: &str = "ALLHANDS_REPORT";
/// The variable that says whether the report has times; each process reads it by itself.
pub(crate) const TIMES: &str = "ALLHANDS_REPORT_TIMES";
/// The variable with the file that the trace goes to; each process reads it by itself.
pub(crate) const TRACE: &str = "ALLHANDS_TRACE";

/// What is set, the same on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether nothing is taken over.
    pub(crate) is_off: bool,
    /// Whether every result is compared with the native one.
    pub(crate) verify: bool,
    /// Who chooses algorithms; `None`: the table that is installed.
    pub(crate) policy: Option<String>,
    /// By rank of the world: the node that it is to pretend to be on.
    pub(crate) nodes: Option<Vec<u32>>,
    /// What was said of single calls.
    calls: Vec<(Call, Said)>,
    /// What could not be understood.
    pub(crate) mistakes: Vec<String>,
}

/// What was said of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It passes through.
    Off,
    /// It is served by this algorithm.
    Algorithm(String),
}

impl Settings {
    /// Nothing is said.
    pub(crate) const NOTHING: Settings = Settings {
        is_off: false,
        verify: false,
        policy: None,
        nodes: None,
        calls: Vec::new(),
        mistakes: Vec::new(),
    };

    /// The variables of this process that matter to all, a line each.
    pub(crate) fn text() -> String {
        let mut text = String::new();
        let calls = Call::ALL.iter().map(|call| call.variable());
        for name in [SWITCH, VERIFY, POLICY, NODES]
            .map(String::from)
            .into_iter()
            .chain(calls)
        {
            if let Ok(value) = std::env::var(&name)
                && !value.contains('\n')
            {
                text.push_str(&format!("{name}={value}\n"));
            }
        }
        text
    }

    /// What the lines of [`Settings::text`] say, to so many ranks.
    pub(crate) fn parse(text: &str, ranks: usize) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.trim();
            match name {
                _ if value.is_empty() => {}
                SWITCH => match switch(value) {
                    Some(on) => settings.is_off = !on,
                    None => settings.mistakes.push(wrong(name, value, "on or off")),
                },
                VERIFY => match switch(value) {
                    Some(on) => settings.verify = on,
                    None => settings.mistakes.push(wrong(name, value, "on or off")),
                },
                POLICY => settings.policy = Some(value.to_string()),
                NODES => match nodes(value).filter(|nodes| nodes.len() == ranks) {
                    Some(nodes) => settings.nodes = Some(nodes),
                    None => settings.mistakes.push(wrong(
                        name,
                        value,
                        &format!(
                            "NODESxRANKS, or a list of nodes' sizes, with {ranks} ranks in all"
                        ),
                    )),
                },
                _ => {
                    let call = Call::ALL.iter().find(|call| call.variable() == name);
                    let Some(call) = call else { continue };
                    match switch(value) {
                        Some(true) => {}
                        Some(false) => settings.calls.push((*call, Said::Off)),
                        None => settings
                            .calls
                            .push((*call, Said::Algorithm(value.to_string()))),
                    }
                }
            }
        }
        settings
    }

    /// What was said of a call.
    #[inline]
    pub(crate) fn of(&self, call: Call) -> Option<&Said> {
        if self.calls.is_empty() {
            return None;
        }
        self.calls
            .iter()
            .find(|(c, _)| *c == call)
            .map(|(_, said)| said)
    }
}

/// Whether a word says on or off.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "yes" | "true" => Some(true),
        "off" | "0" | "no" | "false" | "native" => Some(false),
        _ => None,
    }
}

/// By rank, the node of which `2x3` or `3,1,2` speaks: so many nodes of so many ranks, or nodes of these sizes.
fn nodes(value: &str) -> Option<Vec<u32>> {
    const MOST: usize = 1 << 16;
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let number = |text| number(text).filter(|n| (1..=MOST).contains(n));
    let sizes: Vec<usize> = match value.split_once('x') {
        Some((nodes, ranks)) => vec![number(ranks)?; number(nodes)?],
        None => value.split(',').map(number).collect::<Option<_>>()?,
    };
    if sizes.iter().sum::<usize>() > MOST {
        return None;
    }
    let each = (0..).zip(sizes);
    Some(
        each.flat_map(|(node, size)| std::iter::repeat_n(node, size))
            .collect(),
    )
}

fn wrong(name: &str, value: &str, right: &str) -> String {
    format!("{name} is '{value}', where {right} would be right")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood_and_mistakes_named() {
        let text = "ALLHANDS_MPI=on\nALLHANDS_VERIFY=1\nALLHANDS_ALLREDUCE=ring\nALLHANDS_BCAST=off\n\
                    ALLHANDS_POLICY=mpich-2005\nALLHANDS_SCAN=\n";
        let settings = Settings::parse(text, 5);
        assert!(!settings.is_off && settings.verify && settings.mistakes.is_empty());
        assert_eq!(settings.policy.as_deref(), Some("mpich-2005"));
        let ring = Said::Algorithm("ring".into());
        assert_eq!(settings.of(Call::Allreduce), Some(&ring));
        assert_eq!(settings.of(Call::Bcast), Some(&Said::Off));
        assert_eq!(settings.of(Call::Scan), None);
        let settings = Settings::parse("ALLHANDS_MPI=perhaps\n", 5);
        assert!(settings.mistakes[0].contains("'perhaps'"));
        assert!(Settings::parse("ALLHANDS_MPI=off", 5).is_off);
    }

    #[test]
    fn nodes_to_pretend_have_as_many_ranks_as_there_are() {
        let parsed = |value| Settings::parse(&format!("ALLHANDS_NODES={value}\n"), 6);
        assert_eq!(parsed("2x3").nodes, Some(vec![0, 0, 0, 1, 1, 1]));
        assert_eq!(parsed("3, 1,2").nodes, Some(vec![0, 0, 0, 1, 2, 2]));
        for wrong in ["2x2", "x", "0x6", "6,0", "99999999999x9"] {
            let settings = parsed(wrong);
            assert_eq!(settings.nodes, None);
            assert!(
                settings.mistakes[0].contains(wrong) && settings.mistakes[0].contains("6 ranks")
            );
        }
    }
}
