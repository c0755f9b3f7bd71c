//! Tuning: every number of the transport that was found by measuring, with what it weighs.
//!
//! What depends on the machine more than that is measured on it (`policy/protocols.rs`), or while messages come
//! ([`copy_protocol`](super::protocol::copy_protocol)); these hold on all that were tried, or serve until something is measured. Sizes of
//! what lies in shared memory (cells, medium buffers) stand with their layout.

// Copies.

/// How far ahead a copy from another core's cache asks for lines, in bytes.
pub(crate) const COPY_AHEAD: usize = 2 << 10;

/// The fewest bytes of a copy that asks for lines ahead, or goes past the caches.
pub(crate) const COPY_AHEAD_LEAST: usize = 24 << 10;

/// The part of the last-level caches from which on what all ranks of a call have is taken to be in nobody's cache when it comes: other programs,
/// and on a virtual machine other guests, have their part. On a Cascade Lake with 36 MB a copy of half a megabyte that asks for both sides
/// ahead takes half as long where buffers come to 16 MB, and one of 1 MB two thirds where they come to 32.
pub(crate) const COLD_LEAST: usize = 2;

/// The fewest bytes that are claimed for writing while they are copied.
pub(crate) const COPY_CLAIMING_LEAST: usize = 1 << 10;

/// The most bytes that are copied in place: the processor then asks for all lines before it knows how the call goes on,
/// where the library's copy first finds out which of its loops is meant.
pub(crate) const COPY_IN_PLACE_MOST: usize = 1200;

/// The fewest bytes that are copied in place.
pub(crate) const COPY_IN_PLACE_LEAST: usize = 8;

/// The fewest bytes for which 4 KiB aliasing matters: below, the library moves no strings, and the kernel has more to do than to copy.
pub(crate) const ALIASING_LEAST: usize = 2 << 10;

/// The fewest bytes that the system copies by way of memory aside, to avoid 4 KiB aliasing.
pub(crate) const ATTACH_ASIDE_LEAST: usize = 8 << 10;

/// How many of them are copied so at a time: whole pages.
pub(crate) const ATTACH_ASIDE_BYTES: usize = 64 << 10;

/// Bytes that are read at once where they are combined: they stay in a core's own cache.
pub(crate) const ATTACH_LANDING_BYTES: usize = 128 << 10;

/// The most bytes in a window whose lines are claimed before they are written.
pub(crate) const OWN_CLAIM_MOST: usize = 32 << 10;

/// The most bytes in a window that are passed on to where peers find them sooner: beyond, that costs more than it saves.
pub(crate) const PASS_ON_MOST: usize = 1 << 10;

/// The fewest bytes of a window that are worth being claimed for writing: in short blocks those of other ranks share the lines.
pub(crate) const WINDOW_CLAIM_LEAST: usize = 1 << 10;

// Waiting.

/// Looks between which the processor only pauses, when every rank has a core.
pub(crate) const SPINS: u32 = 5000;

/// Every so many looks another thread may run even then: the system may have put two ranks on one core, and would leave
/// them there for milliseconds, in which each looks in vain until its turn is over.
pub(crate) const SPINS_BEFORE_YIELD: u32 = 512;

/// As [`SPINS_BEFORE_YIELD`], for looks at a network.
pub(crate) const LOOKS_BEFORE_YIELD: u32 = 16;

/// Looks between which another thread may run, when every rank has a core.
pub(crate) const YIELDS: u32 = 200;

/// Looks between which another rank may run, when there are more of them than cores. To give way costs less than a
/// microsecond, to be woken tens of them: a rank sleeps only when its peers are long in coming.
pub(crate) const OVERSUBSCRIBED_YIELDS: u32 = 2000;

/// Looks for what a step waits for before the interpreter takes over, when every rank has a core.
pub(crate) const FAST_PATH_LOOKS: u32 = 512;

/// Where ranks share cores, who waits looks once: it could keep the one it waits for from a core. But who gets so many bytes
/// that one other rank writes looks again while these may be on their way: to give way costs more than that.
pub(crate) const FAST_PATH_WRITTEN_LEAST: usize = 2 << 10;

/// The bytes that are written during a look.
pub(crate) const FAST_PATH_WRITTEN_MEANWHILE: usize = 128;

/// The most bytes of an operation in a plan with windows: of longer ones the interpreter's part in the time is small.
pub(crate) const FAST_PATH_WINDOW_MOST: usize = 8 << 10;

/// Looks in vain between which all senders of a step with several are taken for alive.
pub(crate) const SEVERAL_LOOKS: u32 = 1024;

// Protocols.

/// The most bytes that go in a cell where both ranks send at once: beyond, a medium buffer that goes to and fro is sooner written.
pub(crate) const EXCHANGED_EAGER_MOST: usize = 768;

/// The most bytes that go by way of a medium buffer on every machine, and although the receiver can read them where they are; to the size of
/// a medium buffer it is measured.
pub(crate) const MEDIUM_ALWAYS_MOST: usize = 4 << 10;

/// The most bytes of a message that goes one way in a medium buffer unless something was measured: longer ones are in a bounce buffer as
/// soon, and that is tried beside reads of the sender's memory.
pub(crate) const MEDIUM_UNMEASURED_MOST: usize = 8 << 10;

/// The longest message that goes through a bounce buffer, or a pipeline buffer, where ranks share cores: one copy is made after the
/// other there, and the buffers of many ranks would leave the caches.
pub(crate) const OVERSUBSCRIBED_BUFFERED_MOST: usize = 128 << 10;

/// The same of one of several that its sender sends in its call, where a read of the sender's memory was measured to take less than two
/// copies even where both are made at the same time. Longer ones of a scatter to eight ranks on two cores then take 13 % (64 KB) and
/// 40 % (128 KB) less by that (Xeon 6-167-1; nothing and 20 % on a Cascade Lake); a gather's, whose root makes as many copies either way, two
/// fifths more (128 KB, Cascade Lake). What is combined has to be brought here first, which a bounce buffer is already: a scan of 256 KB in segments
/// of 64 KB takes 14 % more by reads (Xeon 6-167-1, November 2026).
pub(crate) const OVERSUBSCRIBED_BOUNCED_MOST: usize = 32 << 10;

/// The longest message that goes through a bounce buffer unless something was measured: what does so has to fit a core's own cache.
pub(crate) const BOUNCE_MOST: usize = 1 << 20;

/// The longest message that goes through a bounce buffer at all, and with it the longest whose copy protocol is tried.
pub(crate) const LONG_BOUNCE_MOST: usize = 4 << 20;

/// The most bytes of bounce buffers for messages longer than [`BOUNCE_MOST`] that a rank uses at a time: they are kept as long as the
/// plans are.
pub(crate) const LONG_BOUNCE_BUFFERS_MOST: usize = 64 << 20;

// Buffers and pieces.

/// The most ranks of which every pair has a ring.
pub(crate) const ALL_PAIRS_MOST: u32 = 16;

/// The most pipeline buffers that a rank makes for one other; of those between two it keeps as many as it has made.
pub(crate) const PIPELINE_BUFFERS: usize = 2;

/// The most pipeline buffers that a rank makes, for all others together: they are kept as long as the communicator is.
pub(crate) const PIPELINE_BUFFERS_IN_ALL: usize = 32;

/// The most bytes in a pipeline buffer; a longer message goes in several, one after another. What its reader wrote there last, and its
/// writer has read since, has then left their own caches (a megabyte or two) for the one that they share: a line that both
/// still have is written five times as slowly. And pipeline buffers of both together leave most of that cache to what they copy.
pub(crate) const PIPELINE_BUFFER_BYTES: usize = 1 << 20;

/// The same where what is received goes past the caches: a pipeline buffer is in them then, and no longer than keeps it there. Shorter
/// ones are still in both cores' own caches when they are written again, now and then: an alltoall of 4 MB takes twice as
/// long then.
pub(crate) const STREAMED_PIPELINE_BUFFER_BYTES: usize = 512 << 10;

/// The same where ranks share cores, and the pipeline buffers of all of them their caches.
pub(crate) const OVERSUBSCRIBED_STREAMED_PIPELINE_BUFFER_BYTES: usize = 128 << 10;

/// The same of messages that go one way, through few pages of the pipeline buffers that stay in the caches of both cores, as longer ones
/// do not: a broadcast of 4 MB takes 492 us in parts of 128 KB, 516 of 64 KB, 569 of 32 KB and 572 of 1 MB, one of 1 MB 115, 116, 131 and
/// 198 (Cascade Lake, November 2026).
pub(crate) const ONE_WAY_PIPELINE_BUFFER_BYTES: usize = 128 << 10;

/// The length in bytes beyond which a message that goes one way is tried by way of pipeline buffers, as all of its class are: one of up to
/// this length is bounced or read by then.
pub(crate) const ONE_WAY_PIPELINED_BEYOND: usize = 256 << 10;

/// The bytes that a core copies while a line goes from one core to another: about as many on cores that are near, where both
/// is fast, as on cores that are far apart.
pub(crate) const PIECE_COPIED_MEANWHILE: usize = 2 << 10;

/// The shortest piece: what is shorter is copied while its reader sees that it begins.
pub(crate) const PIECE_LEAST: usize = 2 << 10;

/// The bytes of a piece in a medium buffer whose lines its receiver does not claim: its sender waits for each of them, and its receiver
/// for the first piece.
pub(crate) const UNCLAIMED_PIECE: usize = 1 << 10;

/// The bytes of a piece that is copied by vectors: from 8 KB on, libraries of our time move strings, some sooner.
pub(crate) const VECTORS_PIECE: usize = 4 << 10;

/// The bytes of a piece where ranks share cores.
pub(crate) const OVERSUBSCRIBED_PIECE: usize = 32 << 10;

/// The shortest copy that is made with a send of the same bytes: a shorter one stays in the caches with all that comes and goes.
pub(crate) const COPY_AND_SEND_LEAST: usize = 1 << 20;

/// The shortest copy of own memory that is deferred while a message is awaited, in bytes.
pub(crate) const DEFERRED_LEAST: usize = 256 << 10;

/// The shortest deferred copy that goes past the caches in a request's first calls, in bytes. Then both are tried: a gather of 768 KB by two
/// ranks takes two fifths past the caches on a Xeon with 2 MB a core, one of 4 MB a seventh less on an EPYC, and one of 768 KB twice as long on
/// a Cascade Lake with 1 MB.
pub(crate) const DEFERRED_PAST_CACHES_LEAST: usize = 640 << 10;

/// The calls of a request with a deferred copy before both ways are tried: the first ones map pages.
pub(crate) const DEFERRED_TRIAL_LATE: usize = 8;

/// The bytes of a deferred copy between two looks for the message.
pub(crate) const DEFERRED_PIECE: usize = 64 << 10;

// Sender assistance, concurrent rendezvous.

/// The shortest message that is worth the sender's help, in bytes.
pub(crate) const ASSISTED_LEAST: usize = 24 << 10;

/// The fewest bytes of a message that is cut in four pieces instead of two, and the longest piece.
pub(crate) const ASSISTED_QUARTERS_LEAST: usize = 256 << 10;

/// The places that an assisting sender copies pieces to by turns: few enough to stay in its cache, and in models so few that the
/// second piece comes where the first one was.
pub(crate) const ASSISTED_BOUNCE_BUFFERS: u64 = if cfg!(loom) { 1 } else { 8 };

/// The most bytes of a piece that is combined.
pub(crate) const ASSISTED_BOUNCED_PIECE: usize = 32 << 10;

/// Pieces of a message that is combined which are read at once, where the sender does not help.
pub(crate) const ASSISTED_LANDED: usize = 2;

/// The shortest message of a concurrent rendezvous, in bytes: most shorter ones are bounced.
pub(crate) const CONCURRENT_LEAST: usize = OVERSUBSCRIBED_BUFFERED_MOST + 1;

/// Looks in vain after which a receiver copies what a sender on its own core might have.
pub(crate) const CONCURRENT_PATIENT_LOOKS: u32 = 8;

/// Looks in vain after which a receiver copies what senders on other cores might have, while others have the same core.
pub(crate) const CONCURRENT_SHORT_LOOKS: u32 = 4;

// The measurement at the first start.

/// The least time of a message of 2 KB in nanoseconds that says that its ranks do not run beside one another. Where they do it takes 600 to
/// 1500, and where its receiver sleeps and is woken 50,000.
pub(crate) const DISTURBED_LEAST_NS: u64 = 20_000;

// Trials of copy protocols.

/// Messages after which all copy protocols are tried again: what the trial costs is then little.
pub(crate) const TRIAL_PERIOD: usize = 1024;

/// The same where the choice has been the same again and again: each time twice as many as before, up to these.
pub(crate) const TRIAL_PERIOD_MOST: usize = 8 << 10;

/// The fewest bytes, and more, of a message that goes one way on which assistance is tried: of a shorter one the pieces that both copy go to and
/// fro between their caches for longer than they save.
pub(crate) const TRIAL_ASSISTED_LEAST: usize = 512 << 10;

/// The same of a message that is combined, whose pieces go to bounce buffers.
pub(crate) const TRIAL_COMBINED_ASSISTED_LEAST: usize = 16 << 10;

/// Longer messages that come before the first trial: a bounce buffer that is new is mapped page by page, which takes as long as ten of
/// them, and few programs that send some megabytes send them more often than this.
pub(crate) const TRIAL_LATE: usize = 128;

/// Exchanges of shorter messages that come before the first trial: the time of the first few calls of a program is that of pages that are
/// mapped, its own and the pipeline buffers'.
pub(crate) const TRIAL_EXCHANGED_LATE: usize = 32;

/// The part of a call's time by which one by way of pipeline buffers has to be sooner than one that reads the other's memory.
pub(crate) const TRIAL_PIPELINED_GAIN: u64 = 16;

/// The part of its time by which a read of the sender's memory has to be sooner than two copies.
pub(crate) const TRIAL_DIRECT_GAIN: u64 = 16;

/// The part of a bounced message's time that its sender's own copy of as much takes: a scatter of 256 KB takes 17.8 us bounced, of
/// which its receiver sees 13.5, and 20 us read (18.3); one of 1 MB 106 (72) and 95 (86) (Xeon 6-167-1, November 2026).
pub(crate) const TRIAL_OWN_COPY: usize = 3;

/// Messages on which each copy protocol is tried, if they come by it.
pub(crate) const TRIAL_TRIED: usize = 8;

/// Messages that come, by whatever protocol, while one is tried: a sender may be some calls ahead of what its receiver wants.
pub(crate) const TRIAL_ASKED_MOST: usize = 3 * TRIAL_TRIED;

/// The last of them, which count.
pub(crate) const TRIAL_COUNTED: usize = 4;

/// The fewest times of each from which one is chosen.
pub(crate) const TRIAL_SAMPLES_LEAST: usize = 3;
