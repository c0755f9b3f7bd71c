//! Pipelines across nodes: what is away at once lets the next segment go, however many there are.

use crate::on_nodes::on_all;
use allhands::transport::net::Threads;
use allhands::{Communicator, Error, operation};

#[test]
fn a_segment_that_is_away_lets_the_next_go() {
    const NODES: [u32; 2] = [0, 1];
    const SEGMENTS: usize = 32;
    // Long enough to be held until all receives that may begin have begun.
    const SEGMENT_BYTES: usize = 16 << 10;
    // All are away when they are sent.
    let network = Threads::new(NODES.len() as u32).with_short_bytes(SEGMENT_BYTES);
    on_all(&NODES, &network, |comm: &Communicator| {
        let vector = vec![comm.rank() as u8; SEGMENTS * SEGMENT_BYTES];
        let mut request = comm.start(vector, |vector| {
            operation::broadcast(vector, 0)
                .algorithm(&format!("pipelined-chain:segments={SEGMENTS}"))
        })?;
        if comm.rank() == 0 {
            let looks = (1..).find(|_| request.test());
            assert_eq!(looks, Some(1), "looks for {SEGMENTS} segments");
        }
        assert!(request.wait()?.iter().all(|byte| *byte == 0));
        Ok::<(), Error>(())
    });
}
