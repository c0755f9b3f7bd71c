//! When a step has something to run, and beside what.

/// When a step has something to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Once this folder holds Rust files.
    RustFilesIn(&'static str),
    /// On this platform: an operating system and an architecture, as the standard library names them.
    On(&'static str, &'static str),
}

/// Beside what a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Beside the steps of [`Beside::Waiting`] and [`Beside::Idle`] alone, in the order of the table.
    Others,
    /// Beside all others, one of them after another: what mostly waits, for clocks and for others.
    Waiting,
    /// Beside all others, two of them at a time, with what the others leave of the processors: what computes, and looks at no clock.
    Idle,
    /// Beside nothing, after all others: what counts or measures.
    Nothing,
}

impl Beside {
    /// All of these, each at its own place.
    pub const ALL: [Beside; 4] = [
        Beside::Others,
        Beside::Waiting,
        Beside::Idle,
        Beside::Nothing,
    ];
}
