// SPDX-License-Identifier: Apache-2.0
//! What consumers say to producers, and what they are answered: asks of
//! `weir/ask.h`, each a message of Protocol Buffers.
//!
//! ```text
//!   consumer                                producer
//!   HOLD ................................... never answered: while it waits,
//!                                            the consumer lives
//!   EXECUTE  call, bytes (in parts) ------>  streams of the task, begun
//!   NEXT     call, what is given back ---->  parked until there is something
//!            <---------------- deliveries --
//!   (gets of the places that they name)
//!   GIVE     call, what is given back ---->  when a NEXT is parked already
//!   END      call ------------------------>  streams dropped, slots free
//!   OVER     task ------------------------>  its query is: nobody calls again
//! ```
//!
//! A *call* is one `execute_task`: a range of partitions of one task, numbered
//! by the consumer. Each partition has a window, [`WINDOW`] bytes that the
//! consumer's program has not taken, so one that nobody reads holds up no
//! other.
//!
//! A long batch goes in pieces, each a delivery, so that slots are small, used
//! again at once, and still in the processor's cache when they are. A delivery
//! is given back in two steps: *freed* when its bytes have been copied, which
//! needs nobody who reads, and *taken* by the program, once for a batch, which
//! moves its partition's window.

use datafusion_distributed::TaskKey;
use prost::{Message, Oneof};

/// First word of all names here: "DATAFUS1".
pub(crate) const SPACE: u64 = 0x4441_5441_4655_5331;

/// Second word of the names of asks; slots have random ones, never this.
pub(crate) const ASKS: u64 = 0;

/// Bytes of a partition that are under way or not yet taken; one batch more
/// than that may be.
pub(crate) const WINDOW: u64 = 1 << 20;

/// Longest piece of a batch.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Bytes of a call that are in slots at a time, when so many run as it begins:
/// its share, but never less than two pieces, which keep both sides busy.
pub(crate) fn slot_bytes(calls: usize) -> usize {
    const ALL: usize = 4 << 20;
    (ALL / calls.max(2)).max(2 * PIECE_BYTES)
}

/// A consumer gives back at the latest when it has this much.
pub(crate) const GIVE_BYTES: u64 = WINDOW / 4;

/// So much of an EXECUTE goes with one ask.
pub(crate) const PART_BYTES: usize = weir::ASK_BYTES - 64;

/// So much of an answer the deliveries take.
pub(crate) const ANSWER_BYTES: usize = weir::ASK_BYTES - 16;

/// Deliveries up to this size go with the answer.
pub(crate) const INLINE_BYTES: usize = ANSWER_BYTES / 2;

/// So many numbers go with one NEXT or GIVE.
pub(crate) const GIVES: usize = 180;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(uint64, tag = "1")]
    pub call: u64,
    #[prost(oneof = "Kind", tags = "2, 3, 4, 5, 6, 7")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Kind {
    #[prost(message, tag = "2")]
    Hold(Empty),
    #[prost(message, tag = "3")]
    Execute(Part),
    #[prost(message, tag = "4")]
    Next(Give),
    #[prost(message, tag = "5")]
    Give(Give),
    #[prost(message, tag = "6")]
    End(Empty),
    #[prost(message, tag = "7")]
    Over(Task),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}

/// A part of the bytes of a [`Task`].
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Part {
    #[prost(bytes = "vec", tag = "1")]
    pub bytes: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub last: bool,
}

/// What is to be executed; of an OVER the first three fields.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Task {
    #[prost(bytes = "vec", tag = "1")]
    pub query: Vec<u8>, // 16
    #[prost(uint64, tag = "2")]
    pub stage: u64,
    #[prost(uint64, tag = "3")]
    pub task: u64,
    #[prost(uint64, tag = "4")]
    pub start: u64,
    #[prost(uint64, tag = "5")]
    pub end: u64,
    #[prost(oneof = "Head", tags = "6, 7, 8")]
    pub head: Option<Head>,
}

/// Which node the task's plan begins with.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Head {
    #[prost(message, tag = "6")]
    None(Empty),
    #[prost(uint64, tag = "7")]
    Broadcast(u64),
    #[prost(bytes, tag = "8")]
    Repartition(Vec<u8>),
}

/// What the consumer gives back.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Give {
    #[prost(uint32, repeated, tag = "1")]
    pub taken: Vec<u32>, // deliveries
    #[prost(uint32, repeated, tag = "2")]
    pub freed: Vec<u32>, // deliveries
    #[prost(uint32, repeated, tag = "3")]
    pub stops: Vec<u32>, // partitions that nobody reads any more
}

/// Answer of a NEXT.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Answer {
    #[prost(message, repeated, tag = "1")]
    pub deliveries: Vec<Delivery>,
}

/// Something of one partition, in its order.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Delivery {
    #[prost(uint32, tag = "1")]
    pub partition: u32, // from the first of the call on
    #[prost(enumeration = "What", tag = "2")]
    pub what: i32,
    #[prost(uint32, tag = "3")]
    pub id: u32, // to be given back; 0: it is not
    #[prost(fixed64, tag = "4")]
    pub slot: u64, // 0: the bytes are here
    #[prost(uint64, tag = "5")]
    pub off: u64, // in the slot
    #[prost(uint64, tag = "6")]
    pub n_bytes: u64, // in the slot
    #[prost(bytes = "vec", tag = "7")]
    pub bytes: Vec<u8>,
    #[prost(uint64, tag = "8")]
    pub blocked_ns: u64, // End: so long its stream waited for credit
    #[prost(uint64, tag = "9")]
    pub whole: u64, // first of several pieces: bytes of them all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum What {
    Batch = 0, // a piece of an Arrow IPC stream with one batch
    End = 1,
    Fault = 2, // a [`crate::fault::Fault`]
    Piece = 3, // of a Batch, which ends it
}

impl Task {
    pub(crate) fn of(key: &TaskKey) -> Self {
        Self {
            query: key.query_id.as_bytes().to_vec(),
            stage: key.stage_id as u64,
            task: key.task_number as u64,
            ..Default::default()
        }
    }

    pub(crate) fn key(&self) -> Option<TaskKey> {
        Some(TaskKey {
            query_id: uuid::Uuid::from_slice(&self.query).ok()?,
            stage_id: self.stage as usize,
            task_number: self.task as usize,
        })
    }
}

impl Request {
    pub(crate) fn bytes(call: u64, kind: Kind) -> Vec<u8> {
        Self { call, kind: Some(kind) }.encode_to_vec()
    }
}
