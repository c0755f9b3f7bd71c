//! The memory that all ranks of a measured call hold together, and how much of it the machine lends.

use allhands_core::algorithm::Algorithm;
use allhands_core::call::Collective;
use allhands_core::schedule::{Layout, Plan, Shape, Space};

/// The length of the elements of a measured call.
const ELEMENT_BYTES: usize = 8;

/// The bytes of input and output that all ranks hold together.
pub fn of_data(collective: Collective, ranks: usize, bytes: usize) -> usize {
    let blocks = match collective {
        Collective::Barrier => 0,
        Collective::Scatter | Collective::Gather => 2 * ranks,
        Collective::Allgather => (1 + ranks) * ranks,
        Collective::Alltoall => 2 * ranks * ranks,
        Collective::Broadcast
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => 2 * ranks,
    };
    blocks.saturating_mul(bytes)
}

/// About the bytes that all ranks hold together while the algorithm runs: input, output, scratch and windows, if all
/// but the root have as much of the last two as the rank before it, which roots and leaders are seldom.
pub fn of_call(algorithm: &Algorithm, shape: &Shape, bytes: usize) -> usize {
    /// What needs no plan to be known as little: no algorithm takes a hundred times what it is given.
    const LITTLE_BYTES: usize = 1 << 20;
    let (call, ranks) = (shape.call, shape.call.ranks as usize);
    let data = of_data(call.collective, ranks, bytes);
    if data <= LITTLE_BYTES {
        return data;
    }
    let layout = Layout::regular(call.collective, bytes / ELEMENT_BYTES);
    let own = |rank| {
        let schedule = algorithm.schedule(shape, rank);
        // A call that cannot be lowered is left to those who say why.
        Plan::lower(&schedule, &call, &layout, ELEMENT_BYTES).map_or(0, |plan| {
            [Space::Scratch, Space::Window]
                .iter()
                .map(|space| plan.space_bytes[space.index()])
                .sum()
        })
    };
    let before = (call.root + call.ranks - 1) % call.ranks;
    data.saturating_add(own(call.root))
        .saturating_add((ranks - 1).saturating_mul(own(before)))
}

/// The most that the ranks of one measurement may hold: a quarter of the machine's memory, for every cell that was
/// measured before leaves something, too.
pub fn most() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)));
    usize::try_from(bytes / 4).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::algorithm;
    use allhands_core::call::Call;

    #[test]
    fn scratch_is_counted() {
        let found = |name| algorithm::find(Collective::Alltoall, name).expect("it is there");
        let held = |name| {
            let shape = found(name).shape(Call::new(Collective::Alltoall, 16), "");
            of_call(found(name), &shape.expect("no parameters"), 1 << 20)
        };
        let data = of_data(Collective::Alltoall, 16, 1 << 20);
        assert_eq!(data, (2 * 16 * 16) << 20);
        assert_eq!(held("pairwise"), data);
        assert!(held("bruck") >= data + data / 4, "{}", held("bruck"));
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(most() > 64 << 20);
    }
}
