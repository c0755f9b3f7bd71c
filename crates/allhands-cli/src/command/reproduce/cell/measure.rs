//! The microbenchmarks of C 3.3, run on simulated Cells: they give the parameters of the extended PLogP model.

use crate::command::simulate::machine::{Job, Machine};
use allhands_core::algorithm::Layer;
use allhands_core::algorithm::phase::shared_memory::window;
use allhands_core::call::{Call, Collective};
use allhands_core::cost::plogp::{ExtendedPlogp, Measured, Way};
use allhands_core::machine::{Fabrics, Nodes};
use allhands_core::parameters::Parameters;
use allhands_core::schedule::{Builder, Layout, Plan, Shape};
use allhands_core::simulate::Work;
use anyhow::Context;
use std::ops::Range;

/// SPEs of a Cell.
pub const SPES: u32 = 8;
/// SPEs of two.
pub const BLADE: u32 = 2 * SPES;

/// The lengths at which everything is measured: from the shortest DMA to the longest vector that is gathered.
const LENGTHS: Range<u32> = 4..18;

/// A gap is measured when twice as many messages change it by less than this part.
const SETTLED: f64 = 0.01;

/// The length of an element.
pub const ELEMENT_BYTES: usize = 4;

/// A rank's part of a microbenchmark.
type Part<'a> = &'a dyn Fn(&mut Builder);

/// All parameters, of one Cell and of two.
///
/// # Errors
/// What keeps a microbenchmark from its end.
pub fn parameters(cell: &Machine, blade: &Machine) -> anyhow::Result<ExtendedPlogp> {
    let one = Bench {
        machine: cell,
        ranks: SPES,
    };
    let two = Bench {
        machine: blade,
        ranks: BLADE,
    };
    let reduce_bytes = 1 << 20;
    let processor = cell.processor()?;
    let reduce_ps = processor.takes_ps(Work::Reduce {
        bytes: reduce_bytes,
    });
    Ok(ExtendedPlogp {
        send_us: us(processor.send.of(0) as f64),
        receive_us: us(processor.receive.of(0) as f64),
        single: one.way(1..SPES)?,
        inside: two.way(1..SPES)?,
        between: two.way(SPES..BLADE)?,
        contention: two.contention()?,
        gamma_us_per_byte: us(reduce_ps as f64) / reduce_bytes as f64,
    })
}

/// The most by which 16 messages across the BIF take longer than two, in hundredths of what two take (C 7.1).
///
/// # Errors
/// What keeps a microbenchmark from its end.
pub fn most_congestion_percent(blade: &Machine) -> anyhow::Result<f64> {
    let bench = Bench {
        machine: blade,
        ranks: BLADE,
    };
    let mut most: f64 = 0.0;
    for bytes in LENGTHS.map(|exponent| 1_u64 << exponent) {
        let [free, all] = [
            bench.butterfly_us(2, bytes)?,
            bench.butterfly_us(BLADE, bytes)?,
        ];
        most = most.max((all - free) / free * 100.0);
    }
    Ok(most)
}

/// The parameters with gaps as Kielmann and others measure them, which C 3.3 finds wrong for Cells: a single sender saturates a single
/// receiver; its messages are queued, or, as by MPI's blocking send, each waits for the acknowledgement of the one before.
///
/// # Errors
/// What keeps a microbenchmark from its end.
pub fn single_senders_gaps(
    right: &ExtendedPlogp,
    cell: &Machine,
    blade: &Machine,
) -> anyhow::Result<[ExtendedPlogp; 2]> {
    let on = |machine, ranks| Bench { machine, ranks };
    let (one, two) = (on(cell, SPES), on(blade, BLADE));
    let gaps = |waits| -> anyhow::Result<ExtendedPlogp> {
        let way = |bench: &Bench<'_>, way: &Way, to| -> anyhow::Result<Way> {
            let gap = bench.saturated_gap(to, waits)?;
            Ok(Way { gap, ..way.clone() })
        };
        Ok(ExtendedPlogp {
            single: way(&one, &right.single, 1)?,
            inside: way(&two, &right.inside, 1)?,
            between: way(&two, &right.between, SPES)?,
            ..right.clone()
        })
    };
    Ok([gaps(false)?, gaps(true)?])
}

/// The parameters in lines, in nanoseconds.
#[must_use]
pub fn say(p: &ExtendedPlogp) -> Vec<String> {
    let ways = [&p.single, &p.inside, &p.between];
    let ns = |us: f64| us * 1000.0;
    let [one, inside, between] = ways.map(|way| ns(way.notice_us));
    let mut lines = vec![
        format!("measured, in ns: L(1) {one:.0}, L1(1) {inside:.0}, L2(1) {between:.0}"),
        format!(
            "{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}",
            "m", "L", "L1", "L2", "g", "g1", "g2", "C(m,4)", "C(m,8)", "C(m,16)"
        ),
    ];
    for bytes in LENGTHS.map(|exponent| 1_u64 << exponent) {
        let mut line = format!("{bytes:>8}");
        for way in ways {
            line += &format!("{:>8.0}", ns(way.latency.at_us(bytes as f64)));
        }
        for way in ways {
            line += &format!("{:>8.1}", ns(way.gap.at_us(bytes as f64)));
        }
        for (messages, measured) in &p.contention {
            if messages.is_power_of_two() {
                line += &format!("{:>9.0}", ns(measured.at_us(bytes as f64)));
            }
        }
        lines.push(line);
    }
    lines
}

fn us(ps: f64) -> f64 {
    ps / 1e6
}

/// Where microbenchmarks run.
struct Bench<'a> {
    machine: &'a Machine,
    ranks: u32,
}

impl Bench<'_> {
    /// L, L(1) and the gaps between rank 0 and `others`.
    fn way(&self, others: Range<u32>) -> anyhow::Result<Way> {
        let peers = f64::from(others.end - others.start);
        let (mut latency, mut gap) = (Vec::new(), Vec::new());
        for bytes in LENGTHS.map(|exponent| 1 << exponent) {
            let mut trips_us = 0.0;
            for other in others.clone() {
                trips_us += self.data_trip_us(other, bytes)?;
            }
            latency.push((bytes, trips_us / 2.0 / peers));
            gap.push((bytes, self.gap_us(&others, bytes)?));
        }
        let mut trips_us = 0.0;
        for other in others.clone() {
            trips_us += self.notice_trip_us(other)?;
        }
        Ok(Way {
            latency: Measured::new(latency),
            notice_us: trips_us / 2.0 / peers,
            gap: Measured::new(gap),
            acknowledgement_gap_us: self.acknowledgement_gap_us(&others)?,
        })
    }

    /// When each rank is done with its part, for vectors of `bytes` bytes.
    fn ends_us(&self, bytes: u64, part: Part<'_>) -> anyhow::Result<Vec<f64>> {
        let shape = Shape {
            call: Call::new(Collective::Broadcast, self.ranks),
            parameters: Parameters::default(),
            nodes: Nodes::one(),
            torus: None,
            fabrics: Fabrics::default(),
        };
        let layout = Layout::regular(Collective::Broadcast, bytes as usize / ELEMENT_BYTES);
        let plan = |rank| {
            let mut builder = Builder::new(shape.clone(), rank, 1, false);
            part(&mut builder);
            Plan::lower(&builder.finish(), &shape.call, &layout, ELEMENT_BYTES)
        };
        let plans: Result<Vec<Plan>, _> = (0..self.ranks).map(plan).collect();
        let plans = plans.context("a microbenchmark")?;
        let outcome = self.machine.outcome(Job {
            layer: Layer::PointToPoint,
            plans: &plans,
            nodes: &shape.nodes,
        })?;
        Ok(outcome.ends_ps.iter().map(|end| us(*end as f64)).collect())
    }

    /// C 3.3, figure 3 a: a notification there and one back.
    fn notice_trip_us(&self, other: u32) -> anyhow::Result<f64> {
        let ends = self.ends_us(0, &|b| {
            let flag = b.flag(0);
            if b.rank() == 0 {
                b.notify(other, flag);
                b.step();
                b.wait(flag, 1);
            } else if b.rank() == other {
                b.wait(flag, 1);
                b.step();
                b.notify(0, flag);
            }
        })?;
        Ok(ends[0])
    }

    /// C 3.3, figure 3 b: an address there, the data, an address back, the data.
    fn data_trip_us(&self, other: u32, bytes: u64) -> anyhow::Result<f64> {
        let ends = self.ends_us(bytes, &|b| {
            let (flag, data, output) = (b.flag(0), window::vector(b), b.output());
            if b.rank() == 0 {
                b.notify(other, flag);
                b.step();
                b.wait(flag, 1);
                b.step();
                b.get_from(other, data, output);
            } else if b.rank() == other {
                b.wait(flag, 1);
                b.step();
                b.get_from(0, data, output);
                b.step();
                b.notify(0, flag);
            }
        })?;
        Ok(ends[0])
    }

    /// C 3.3: all others get from rank 0 at once; the mean time of these, by how many they are. With a second chip those of the
    /// first wait longer (C 7.1: "additional SPEs across the BIF"), so that g1 is more than g.
    fn gap_us(&self, these: &Range<u32>, bytes: u64) -> anyhow::Result<f64> {
        let ends = self.ends_us(bytes, &|b| {
            let (data, output) = (window::vector(b), b.output());
            if b.rank() != 0 {
                b.get_from(0, data, output);
            }
        })?;
        let mean_us = mean(&ends[these.start as usize..these.end as usize]);
        Ok(mean_us / f64::from(these.end - these.start))
    }

    /// The same with notifications to rank 0: when it has those of `these`, by how many they are.
    fn acknowledgement_gap_us(&self, these: &Range<u32>) -> anyhow::Result<f64> {
        let count = these.end - these.start;
        let ends = self.ends_us(0, &|b| {
            let flag = b.flag(0);
            if these.contains(&b.rank()) {
                b.notify(0, flag);
            } else if b.rank() == 0 {
                b.wait(flag, count);
            }
        })?;
        Ok(ends[0] / f64::from(count))
    }

    /// The gap of rank 0 that sends rank `to` messages one behind another, at all lengths.
    fn saturated_gap(&self, to: u32, waits: bool) -> anyhow::Result<Measured> {
        let mut points = Vec::new();
        for bytes in LENGTHS.map(|exponent| 1 << exponent) {
            let mut messages = 8;
            let mut gap_us = self.train_us(to, bytes, messages, waits)?;
            loop {
                messages *= 2;
                let longer_us = self.train_us(to, bytes, messages, waits)?;
                let settled = (longer_us / gap_us - 1.0).abs() < SETTLED;
                gap_us = longer_us;
                if settled {
                    break;
                }
            }
            points.push((bytes, gap_us));
        }
        Ok(Measured::new(points))
    }

    /// So many messages from rank 0 to another, until the last is acknowledged: the time, by how many they are.
    fn train_us(&self, to: u32, bytes: u64, messages: u32, waits: bool) -> anyhow::Result<f64> {
        let ends = self.ends_us(bytes, &|b| {
            let output = b.output();
            for _ in 0..messages {
                if b.rank() == 0 {
                    b.send(to, output);
                } else if b.rank() == to {
                    b.recv(0, output);
                }
                if waits {
                    b.step();
                }
            }
        })?;
        Ok(ends[0] / f64::from(messages))
    }

    /// C 3.3: BIF-n, n SPEs in pairs across the BIF that get from each other; the mean time of the gets.
    fn butterfly_us(&self, messages: u32, bytes: u64) -> anyhow::Result<f64> {
        let takes_part = |rank: u32| rank % SPES < messages / 2;
        let ends = self.ends_us(bytes, &|b| {
            let (data, output) = (window::vector(b), b.output());
            if takes_part(b.rank()) {
                b.get_from(b.rank() ^ SPES, data, output);
            }
        })?;
        let taking: Vec<f64> = (0..self.ranks)
            .filter(|rank| takes_part(*rank))
            .map(|rank| ends[rank as usize])
            .collect();
        Ok(mean(&taking))
    }

    /// C(m, n): what BIF-n takes more than BIF-2.
    fn contention(&self) -> anyhow::Result<Vec<(u32, Measured)>> {
        let mut contention = Vec::new();
        for messages in (4..=BLADE).step_by(2) {
            let mut points = Vec::new();
            for bytes in LENGTHS.map(|exponent| 1 << exponent) {
                let more_us = self.butterfly_us(messages, bytes)? - self.butterfly_us(2, bytes)?;
                points.push((bytes, more_us));
            }
            contention.push((messages, Measured::new(points)));
        }
        Ok(contention)
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> ExtendedPlogp {
        let [cell, blade] = ["cell", "cell-blade"].map(|name| Machine::find(name).expect("it is"));
        parameters(&cell, &blade).expect("every microbenchmark ends")
    }

    /// What C says of its figures 7 and 8.
    #[test]
    fn the_parameters_are_as_the_paper_describes_them() {
        let p = measured();
        // A notification is one put, a message two DMAs at least; across the BIF all takes longer.
        let ways = [&p.single, &p.inside, &p.between];
        assert!(
            ways.iter()
                .all(|w| w.latency.at_us(16.0) > 1.9 * w.notice_us)
        );
        assert_eq!(p.single.notice_us, p.inside.notice_us);
        assert!(p.between.notice_us > p.inside.notice_us);
        // g is a port's share for long messages: 16 KB at 25.6 GB/s.
        let share_us = 16384.0 / 25.6e3;
        let gap_us = p.single.gap.at_us(16384.0);
        assert!(
            (gap_us / share_us - 1.0).abs() < 0.05,
            "{gap_us} {share_us}"
        );
        // "The waiting time for each SPE request is increased" by those across the BIF.
        let inside_us = p.inside.gap.at_us(16384.0);
        assert!(inside_us > gap_us, "{inside_us} {gap_us}");
        // "Almost no congestion up to a data size of 256 bytes": and then it climbs with m and n.
        let congestion = |n: u32, bytes: f64| {
            let (_, measured) = p
                .contention
                .iter()
                .find(|c| c.0 == n)
                .expect("it is measured");
            measured.at_us(bytes) / p.between.latency.at_us(bytes)
        };
        assert!(congestion(16, 256.0) < 0.13, "{}", congestion(16, 256.0));
        assert!(congestion(16, 2048.0) > congestion(16, 512.0));
        assert!(congestion(16, 8192.0) > congestion(8, 8192.0));
    }

    #[test]
    fn sixteen_messages_over_the_bif_take_as_much_longer_as_the_paper_says() {
        let blade = Machine::find("cell-blade").expect("it is there");
        let percent = most_congestion_percent(&blade).expect("it ends");
        assert!((percent - 218.0).abs() < 2.0, "{percent}");
    }
}
