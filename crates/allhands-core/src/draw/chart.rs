//! Charts as data: what ranks do over time, and how much the links of a network are used.

use alloc::string::String;
use alloc::vec::Vec;

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It hands a message to the network.
    Sends,
    /// It takes one in.
    Receives,
    /// It copies.
    Copies,
    /// It combines two operands.
    Combines,
    /// It waits.
    Waits,
    /// Anything else.
    Other,
}

impl Doing {
    /// All of them.
    pub const ALL: [Doing; 6] = [
        Doing::Sends,
        Doing::Receives,
        Doing::Copies,
        Doing::Combines,
        Doing::Waits,
        Doing::Other,
    ];

    /// As the legend says it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Doing::Sends => "sends",
            Doing::Receives => "receives",
            Doing::Copies => "copies",
            Doing::Combines => "combines",
            Doing::Waits => "waits",
            Doing::Other => "other work",
        }
    }
}

/// A time in which a rank does one thing; times in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The row.
    pub row: usize,
    /// From here on.
    pub from: f64,
    /// To here.
    pub to: f64,
    /// What it does.
    pub what: Doing,
    /// What stands in the bar, if there is room.
    pub words: String,
}

/// A message: its row and time at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// Where it leaves.
    pub from: (usize, f64),
    /// Where it arrives.
    pub to: (usize, f64),
}

/// A time-rank chart.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeChart {
    /// What it shows.
    pub title: String,
    /// Under which circumstances.
    pub subtitle: String,
    /// The names of the rows, from the top.
    pub rows: Vec<String>,
    /// What is done.
    pub bars: Vec<Bar>,
    /// What is sent.
    pub arrows: Vec<Arrow>,
    /// The end of the axis.
    pub end: f64,
}

/// Which way a link of a heat map leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To the right.
    East,
    /// To the left.
    West,
    /// Up.
    North,
    /// Down.
    South,
    /// From the node into the network.
    Out,
    /// From the network to the node.
    In,
}

/// A link of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatLink {
    /// The column and row of the node that it leaves.
    pub at: (u32, u32),
    /// Which way it leads.
    pub way: Way,
    /// How much of the time it was busy, from 0 to 1.
    pub share: f64,
    /// Its name, with what it carried.
    pub words: String,
}

/// A plane of nodes with their links, each in the colour of its use.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// Under which circumstances.
    pub subtitle: String,
    /// Columns and rows.
    pub size: (u32, u32),
    /// What columns and rows are numbers of; empty, if they have no names.
    pub axes: [String; 2],
    /// The links, which lie inside.
    pub links: Vec<HeatLink>,
}
