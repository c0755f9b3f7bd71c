//! Pipelines over sockets: what the system takes at once goes in one look, however many segments it is.

use crate::on_nodes::on_all;
use crate::world::network;
use allhands::{Communicator, Error, operation};

#[test]
fn a_segment_that_is_away_lets_the_next_go() {
    const NODES: [u32; 2] = [0, 1];
    const SEGMENTS: usize = 32;
    // Too long for a copy, and short enough that nobody waits until it has come.
    const SEGMENT_BYTES: usize = 16 << 10;
    const TURNS: usize = 30;
    on_all(&NODES, &network(&NODES), |comm: &Communicator| {
        let mut least = usize::MAX;
        for _ in 0..TURNS {
            let vector = vec![comm.rank() as u8; SEGMENTS * SEGMENT_BYTES];
            let mut request = comm.start(vector, |vector| {
                operation::broadcast(vector, 0)
                    .algorithm(&format!("pipelined-chain:segments={SEGMENTS}"))
            })?;
            let mut looks = 0;
            while comm.rank() == 0 && !request.test() {
                looks += 1;
            }
            least = least.min(looks);
            assert!(request.wait()?.iter().all(|byte| *byte == 0));
        }
        // Where the system has no room at once there are more; in the best of many turns it has.
        assert!(
            least < SEGMENTS / 2,
            "{least} looks for {SEGMENTS} segments"
        );
        Ok::<(), Error>(())
    });
}
