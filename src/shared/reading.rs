//! Reading what the clients have counted, while they continue.

use super::client_slot::ClientState;
use super::segment::Segment;
use selfbench_stats::{CommandTally, LatencyHistogram, Tally};

/// The clock reading at which the last client ended; `None` while one has not, as one that was killed.
pub fn ended_ns(segment: &Segment) -> Option<u64> {
    (0..segment.layout().clients)
        .map(|client| segment.client(client).0)
        .map(|head| (head.state() != ClientState::Active).then(|| head.finished_ns()))
        .try_fold(0, |last, one| Some(last.max(one?)))
}

/// Sum of the figures of all clients, by command; empty unless commands are measured.
pub fn read_commands(segment: &Segment) -> Vec<CommandTally> {
    let mut sum = vec![CommandTally::default(); segment.layout().commands];
    for client in 0..segment.layout().clients {
        for (sum, counters) in sum.iter_mut().zip(segment.commands(client)) {
            sum.merge(&CommandTally::from_words(counters.load()));
        }
    }
    sum
}

/// Copies a client's figures, one [`Tally`] for each script, into `into`; they belong together
/// unless the writer was interrupted.
pub fn read_client(segment: &Segment, client: usize, into: &mut [Tally]) {
    let (slot, counters) = segment.client(client);
    slot.sequence.read(|| {
        for (tally, counters) in into.iter_mut().zip(counters) {
            *tally = Tally::from_words(counters.load());
        }
    });
}

/// Sum of the figures of all clients, by script.
pub fn read_all(segment: &Segment) -> Vec<Tally> {
    let scripts = segment.layout().scripts;
    let mut sum = vec![Tally::default(); scripts];
    let mut one = vec![Tally::default(); scripts];
    for client in 0..segment.layout().clients {
        read_client(segment, client, &mut one);
        for (sum, one) in sum.iter_mut().zip(&one) {
            sum.merge(one);
        }
    }
    sum
}

/// Latencies of all clients at this moment, by script. Those that a counter has wrapped around over
/// are missing, which takes more than an hour.
pub fn read_latencies(segment: &Segment) -> Vec<LatencyHistogram> {
    let layout = segment.layout();
    let of_script = |script| {
        let mut sum = LatencyHistogram::new();
        for set in 0..layout.histogram_sets() {
            for (bucket, count) in segment.histogram(set, script).used() {
                if count > 0 {
                    sum.record_bucket(bucket, u64::from(count));
                }
            }
        }
        sum
    };
    (0..layout.scripts).map(of_script).collect()
}

/// Sum of the figures of all clients and scripts.
pub fn read_total(segment: &Segment) -> Tally {
    let mut total = Tally::default();
    for script in read_all(segment) {
        total.merge(&script);
    }
    total
}
