//! What is left out of a cluster's model, so that one sees what it is worth (C 7.2, figure 11).

use super::cluster::{ClusterFile, LevelFile};
use super::{Machine, Network};
use anyhow::{Context, bail, ensure};

/// What is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// C: that messages wait for one another's part of what all share, and ranks for one another to be woken.
    pub contention: bool,
    /// That several peers are at a port at once: the gap is what saturates a train of messages to one peer.
    pub peers: bool,
}

impl LeftOut {
    /// Whether that is anything.
    pub fn is_any(self) -> bool {
        self.contention || self.peers
    }

    /// The whole model, each part of it alone that is left out, and both.
    pub fn parts(self) -> Vec<LeftOut> {
        let whole = LeftOut::default();
        let (contention, peers) = (self.contention, self.peers);
        let all = [
            LeftOut {
                contention,
                ..whole
            },
            LeftOut { peers, ..whole },
            self,
        ];
        let mut parts = vec![whole];
        for part in all {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match (self.contention, self.peers) {
            (false, false) => "nothing",
            (true, false) => "contention",
            (false, true) => "gap of peers",
            (true, true) => "both",
        }
    }
}

impl Machine {
    /// The same machine without what is left out.
    ///
    /// # Errors
    /// When its file does not tell these apart.
    pub fn leaving_out(&self, what: LeftOut) -> anyhow::Result<Machine> {
        let mut machine = self.clone();
        match &mut machine.network {
            Network::Cluster(file) => file.leave_out(what)?,
            _ if what.is_any() => bail!(
                "--without and --gap are for machines of the kind cluster, which {} is not: right would be a file of allhands calibrate",
                self.name
            ),
            _ => {}
        }
        Ok(machine)
    }
}

impl ClusterFile {
    fn leave_out(&mut self, what: LeftOut) -> anyhow::Result<()> {
        let levels = [("inside", &mut self.inside), ("between", &mut self.between)];
        for (name, level) in levels {
            if let Some(level) = level {
                let place = || format!("[network.{name}]");
                level.leave_out(what).with_context(place)?;
            }
        }
        Ok(())
    }
}

impl LevelFile {
    fn leave_out(&mut self, what: LeftOut) -> anyhow::Result<()> {
        if what.contention {
            // A message alone takes as long as it did.
            let both_ends = self.latency_us.iter_mut().zip(&self.shared_us);
            both_ends.for_each(|(latency_us, shared_us)| {
                *latency_us += 2.0 * shared_us + self.wake_us;
            });
            self.shared_us.fill(0.0);
            self.wake_us = 0.0;
        }
        if what.peers {
            ensure!(
                !self.gap_saturated_us.is_empty(),
                "gap_saturated_us is missing, which --gap saturation goes by: right would be a file of this version's allhands calibrate"
            );
            self.gap_us.clone_from(&self.gap_saturated_us);
            // PLogP has the gap as a part of the way, so it is wrong of a message alone, too, where the gap is longer.
            let way = self.latency_us.iter_mut().zip(&self.gap_us);
            way.for_each(|(latency_us, gap_us)| *latency_us = latency_us.max(*gap_us));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::predict::predicted_us;
    use allhands_core::algorithm::{self, Algorithm, microbenchmark};
    use allhands_core::call::{Call, Collective};
    use allhands_core::machine::Nodes;

    /// 3 µs at each end are shared; a port needs 8 µs for a message, and a train to one peer finds 2.
    const FILE: &str = "name = 'eight'\nabout = 'a test'\n[network]\nkind = 'cluster'\n[network.between]\nbytes = [8]\n\
        send_us = [1]\nreceive_us = [1]\nlatency_us = [30]\ngap_us = [8]\ngap_saturated_us = [2]\nshared_us = [3]\nwake_us = 5\n[processor]\ncopy_byte_ns = 0\nreduce_byte_ns = 0\n";

    fn us(machine: &Machine, algorithm: &Algorithm, parameters: &str, what: LeftOut) -> f64 {
        let call = Call::new(algorithm.collective, 8);
        let shape = algorithm.shape(call, parameters).expect("they are right");
        let shape = shape.on(Nodes::of_sizes(&[1; 8]));
        let machine = machine.leaving_out(what).expect("all is there");
        predicted_us(&machine, algorithm, &shape, 64).expect("it ends")
    }

    #[test]
    fn what_is_left_out_costs_what_it_was() {
        let machine = Machine::parse(FILE).expect("it is right");
        let (whole, contention) = (
            LeftOut::default(),
            LeftOut {
                contention: true,
                peers: false,
            },
        );
        let peers = LeftOut {
            contention: false,
            peers: true,
        };
        // Eight messages at once, and the ranks are woken one after another.
        let butterfly = &microbenchmark::butterfly::ALGORITHM;
        let pairs = |what| us(&machine, butterfly, "peer=4,many=4", what);
        assert_eq!(pairs(whole), 32.0 + 6.0 + 8.0 * 5.0);
        assert_eq!(pairs(contention), 32.0 + 6.0 + 5.0);
        // Seven messages come to one port.
        let alone =
            Machine::parse(&FILE.replace("shared_us = [3]\nwake_us = 5", "shared_us = [0]"));
        let alone = alone.expect("it is right");
        let direct = algorithm::find(Collective::Gather, "direct").expect("it is there");
        let gather = |what| us(&alone, direct, "", what);
        assert_eq!(gather(whole), 32.0 + 6.0 * 8.0);
        assert_eq!(gather(peers), 32.0 + 6.0 * 2.0);
    }

    #[test]
    fn each_part_is_left_out_alone_and_with_the_others() {
        let parts = |contention, peers| {
            let parts = LeftOut { contention, peers }.parts();
            parts.into_iter().map(LeftOut::name).collect::<Vec<_>>()
        };
        assert_eq!(parts(false, false), ["nothing"]);
        assert_eq!(parts(true, false), ["nothing", "contention"]);
        assert_eq!(parts(false, true), ["nothing", "gap of peers"]);
        let both = ["nothing", "contention", "gap of peers", "both"];
        assert_eq!(parts(true, true), both);
    }

    #[test]
    fn what_a_file_does_not_tell_apart_is_said() {
        let what = LeftOut {
            contention: false,
            peers: true,
        };
        let said = |machine: &Machine| format!("{:#}", machine.leaving_out(what).unwrap_err());
        let old = Machine::parse(&FILE.replace("gap_saturated_us = [2]\n", ""));
        let old = said(&old.expect("it is right without"));
        assert!(
            old.contains("[network.between]") && old.contains("gap_saturated_us is missing"),
            "{old}"
        );
        let flat = said(&Machine::find("loggp").expect("it is built in"));
        assert!(flat.contains("allhands calibrate"), "{flat}");
    }
}
