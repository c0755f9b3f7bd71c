//! Tables: for each collective, number of ranks and size, what was the fastest on a machine.

use super::Facts;
use crate::call::Collective;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// An algorithm with its parameters, and the time that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The algorithm's name; one that is not registered is passed over.
    pub name: String,
    /// Its parameters, `key=value,…`.
    pub parameters: String,
    /// The median time, in nanoseconds, if it was measured.
    pub time_ns: Option<u64>,
}

impl fmt::Display for Entry {
    /// As the text form has it: `NAME`, `NAME:key=value,…`, and after a space the microseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.parameters.is_empty() {
            write!(f, ":{}", self.parameters)?;
        }
        self.time_ns.map_or(Ok(()), |ns| write!(f, " {}", Us(ns)))
    }
}

/// Nanoseconds, said in microseconds.
#[derive(Clone, Copy)]
pub(super) struct Us(pub(super) u64);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// What is fastest at one size, and what to take where that does not serve the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The size, as in [`Question::bytes`](super::Question::bytes).
    pub bytes: u64,
    /// The best first.
    pub ranking: Vec<Entry>,
}

/// Where ranks are on several nodes: on which, and what the network between them took of a message when the row was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The network, as `tcp`; told, not compared.
    pub transport: String,
    /// How many ranks share memory, as [`Nodes`](crate::machine::Nodes) says it.
    pub nodes: String,
    /// L, in nanoseconds.
    pub latency_ns: u64,
    /// o while all send, in nanoseconds.
    pub burst_overhead_ns: u64,
    /// G, in femtoseconds a byte.
    pub byte_fs: u64,
}

impl Site {
    /// Whether a network is so much like another that what is the fastest on the one is so on the other: a short message, L and o, takes at
    /// most twice as long, G differs by a third at most, and o, which varies from start to start, by two thirds. L varies, too: among
    /// thirteen hosts that shared two cores it was 75 to 236 µs in six starts on a network of 100. Below a microsecond L is none.
    #[must_use]
    pub fn is_like(&self, other: &Site) -> bool {
        const NO_LATENCY_NS: u64 = 1000;
        let within = |one: u64, other: u64, [many, of]: [u64; 2]| {
            let (less, more) = (one.min(other), one.max(other));
            u128::from(more) * u128::from(of) <= u128::from(less) * u128::from(many)
        };
        let short = |site: &Site| {
            let latency_ns = site.latency_ns.max(NO_LATENCY_NS);
            latency_ns.saturating_add(site.burst_overhead_ns)
        };
        self.nodes == other.nodes
            && within(short(self), short(other), [2, 1])
            && within(self.byte_fs, other.byte_fs, [4, 3])
            && within(self.burst_overhead_ns, other.burst_overhead_ns, [3, 1])
    }
}

/// A collective among one number of ranks, which share memory unless it is said where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The collective.
    pub collective: Collective,
    /// Whether there were more ranks than cores.
    pub oversubscribed: bool,
    /// The number of ranks.
    pub ranks: u32,
    /// Where the ranks are, if on several nodes.
    pub site: Option<Site>,
    /// The day on which it was measured, if it was.
    pub measured: Option<String>,
    /// By size, which grows.
    cells: Vec<Cell>,
}

/// What tells rows from one another, in their order.
type Key<'a> = (Collective, bool, Option<(&'a str, u64, u64)>, u32);

impl Row {
    /// A row without cells.
    #[must_use]
    pub fn new(collective: Collective, ranks: u32, oversubscribed: bool) -> Row {
        Row {
            collective,
            oversubscribed,
            ranks,
            site: None,
            measured: None,
            cells: Vec::new(),
        }
    }

    /// The same row, of ranks on several nodes.
    #[must_use]
    pub fn on(self, site: Option<Site>) -> Row {
        Row { site, ..self }
    }

    /// Its cells, by size, which grows.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Puts a cell into its place; gives the one of that size that was there.
    pub fn insert(&mut self, cell: Cell) -> Option<Cell> {
        match self.cells.binary_search_by_key(&cell.bytes, |c| c.bytes) {
            Ok(at) => Some(core::mem::replace(&mut self.cells[at], cell)),
            Err(at) => {
                self.cells.insert(at, cell);
                None
            }
        }
    }

    fn key(&self) -> Key<'_> {
        let site = self.site.as_ref();
        let site = site.map(|site| (site.nodes.as_str(), site.latency_ns, site.byte_fs));
        (self.collective, self.oversubscribed, site, self.ranks)
    }
}

/// What was the fastest on a machine, among ranks that share memory, and among those on several nodes.
///
/// A number of ranks or a size that the table does not have is served by the nearest that it has, geometrically; of two
/// that are as near, by the smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it is called: `shm`, or its file.
    pub name: String,
    /// The machine on which it was measured.
    pub machine: String,
    /// The version of Allhands with which it was measured.
    pub version: String,
    /// By collective, oversubscription and number of ranks, which grow.
    rows: Vec<Row>,
    /// The table that is asked after this one.
    otherwise: Option<Arc<Table>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(name: &str, machine: &str, version: &str) -> Table {
        Table {
            name: name.into(),
            machine: machine.into(),
            version: version.into(),
            ..Table::default()
        }
    }

    /// The same table; where it has nothing that serves a call, `next` is asked.
    #[must_use]
    pub fn or(self, next: Arc<Table>) -> Table {
        Table {
            otherwise: Some(next),
            ..self
        }
    }

    /// Its rows, by collective, oversubscription and number of ranks.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Puts a row into its place; gives the one that was there.
    pub fn insert(&mut self, row: Row) -> Option<Row> {
        match self
            .rows
            .binary_search_by(|known| known.key().cmp(&row.key()))
        {
            Ok(at) => Some(core::mem::replace(&mut self.rows[at], row)),
            Err(at) => {
                self.rows.insert(at, row);
                None
            }
        }
    }

    /// The row of just this collective, number of ranks and oversubscription, of ranks that share memory.
    #[must_use]
    pub fn row(&self, collective: Collective, ranks: u32, oversubscribed: bool) -> Option<&Row> {
        let key = (collective, oversubscribed, None, ranks);
        let found = self.rows.binary_search_by(|row| row.key().cmp(&key));
        found.ok().map(|at| &self.rows[at])
    }

    /// The first row of this collective among so many ranks that was measured at a place like this one.
    #[must_use]
    pub fn row_at(&self, collective: Collective, ranks: u32, site: &Site) -> Option<&Row> {
        let is_like = |row: &&Row| row.site.as_ref().is_some_and(|known| known.is_like(site));
        let mut rows = self.rows.iter();
        rows.find(|row| row.collective == collective && row.ranks == ranks && is_like(row))
    }

    /// What was measured of a call at a place like this one, at no more than twice or half its size.
    #[must_use]
    pub fn find_at(&self, facts: &Facts, site: &Site) -> Option<&Cell> {
        let call = facts.call;
        let bytes = facts.bytes?;
        self.chain().find_map(|table| {
            let row = table.row_at(call.collective, call.ranks, site)?;
            let cell = nearest(&row.cells, bytes, |cell| cell.bytes)?;
            let (less, more) = (cell.bytes.min(bytes), cell.bytes.max(bytes));
            (more <= less.saturating_mul(2)).then_some(cell)
        })
    }

    /// This table and those that are asked after it.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Table> {
        core::iter::successors(Some(self), |table| table.otherwise.as_deref())
    }

    /// The row and the cell that are the nearest to what is asked about.
    ///
    /// Where not every rank knows the size, it is the middle cell.
    #[must_use]
    pub fn find(&self, facts: &Facts) -> Option<(&Row, &Cell)> {
        let (collective, oversubscribed) = (facts.call.collective, facts.oversubscribed);
        // Rows of several nodes come behind those of one.
        let first = (collective, oversubscribed, false);
        let of = |row: &Row| (row.collective, row.oversubscribed, row.site.is_some());
        let from = self.rows.partition_point(|row| of(row) < first);
        let to = self.rows.partition_point(|row| of(row) <= first);
        let row = nearest(&self.rows[from..to], u64::from(facts.call.ranks), |row| {
            u64::from(row.ranks)
        })?;
        let cell = match facts.bytes {
            Some(bytes) => nearest(&row.cells, bytes, |cell| cell.bytes)?,
            None => row.cells.get(row.cells.len().saturating_sub(1) / 2)?,
        };
        Some((row, cell))
    }
}

/// Of items whose size grows the nearest to `wanted`: the one with the smaller quotient of the sizes, else the smaller.
fn nearest<T>(items: &[T], wanted: u64, size: impl Fn(&T) -> u64) -> Option<&T> {
    let above = items.partition_point(|item| size(item) < wanted);
    let below = above.checked_sub(1).map(|at| &items[at]);
    match (below, items.get(above)) {
        (Some(below), Some(above)) => {
            let wide = |n: u64| u128::from(n.max(1));
            let nearer_above = wide(size(below)) * wide(size(above)) < wide(wanted) * wide(wanted);
            // What is there exactly is the nearest, also where 0 counts as 1.
            Some(if nearer_above || size(above) == wanted {
                above
            } else {
                below
            })
        }
        (below, above) => above.or(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_so_geometrically() {
        let sizes = [0, 8, 32, 4096];
        let near = |wanted| *nearest(&sizes, wanted, |s| *s).unwrap();
        for (wanted, expected) in [
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 8),
            (8, 8),
            (16, 8),
            (17, 32),
            (362, 32),
            (363, 4096),
            (u64::MAX, 4096),
        ] {
            assert_eq!(near(wanted), expected, "{wanted}");
        }
        assert_eq!(nearest(&[] as &[u64], 3, |s| *s), None);
    }

    fn site(nodes: &str, latency_ns: u64) -> Site {
        Site {
            transport: "tcp".into(),
            nodes: nodes.into(),
            latency_ns,
            burst_overhead_ns: 20_000,
            byte_fs: 40_000_000,
        }
    }

    #[test]
    fn networks_that_are_alike_have_the_same_rows() {
        let (here, there) = (site("1,1", 500_000), site("1,1", 1_200_000));
        assert!(here.is_like(&site("1,1", 900_000)) && site("1,1", 900_000).is_like(&here));
        assert!(!here.is_like(&there) && !here.is_like(&site("2", 500_000)));
        assert!(
            site("1,1", 0).is_like(&site("1,1", 20_000))
                && !site("1,1", 0).is_like(&site("1,1", 30_000))
        );
        let mut table = Table::new("t", "m", "0");
        let cell = |bytes| Cell {
            bytes,
            ranking: Vec::new(),
        };
        for (site, bytes) in [(Some(&here), 64), (Some(&there), 1 << 20), (None, 4096)] {
            let mut row = Row::new(Collective::Scan, 2, false).on(site.cloned());
            row.insert(cell(bytes));
            assert!(table.insert(row).is_none());
        }
        let facts = |bytes| {
            Facts::of(&super::super::Question::new(
                crate::call::Call::new(Collective::Scan, 2),
                bytes,
            ))
        };
        let found = |bytes, site: &Site| table.find_at(&facts(bytes), site).map(|cell| cell.bytes);
        assert_eq!(found(100, &here), Some(64));
        assert_eq!(found(129, &here), None, "more than twice");
        assert_eq!(found(1 << 20, &there), Some(1 << 20));
        // Ranks that share memory have rows of their own, and so has whoever asks for these.
        assert_eq!(table.find(&facts(64)).unwrap().1.bytes, 4096);
        assert_eq!(
            table.row(Collective::Scan, 2, false).unwrap().cells()[0].bytes,
            4096
        );
    }

    #[test]
    fn rows_and_cells_have_their_places() {
        let mut table = Table::new("t", "m", "0");
        for (ranks, oversubscribed) in [(8, true), (2, false), (4, true), (4, false)] {
            let mut row = Row::new(Collective::Scan, ranks, oversubscribed);
            for bytes in [64, 8] {
                let ranking = Vec::new();
                assert!(row.insert(Cell { bytes, ranking }).is_none());
            }
            assert_eq!(row.cells()[0].bytes, 8);
            assert!(table.insert(row).is_none());
        }
        let order: Vec<(bool, u32)> = table
            .rows()
            .iter()
            .map(|r| (r.oversubscribed, r.ranks))
            .collect();
        assert_eq!(order, [(false, 2), (false, 4), (true, 4), (true, 8)]);
        let again = table.insert(Row::new(Collective::Scan, 8, true));
        assert_eq!(again.unwrap().cells().len(), 2);
        assert!(table.row(Collective::Scan, 8, true).is_some());
        assert!(table.row(Collective::Exscan, 8, true).is_none());
    }
}
