// SPDX-License-Identifier: Apache-2.0
//! Shuffles [Arrow](https://arrow.apache.org) record batches between nodes: rows
//! are cut by hash (or range, or as the program says) straight into the rings of
//! their consumers over shared memory, TCP or RDMA, and come out there as record
//! batches over the ring's own memory. On tokio: a writer is a
//! [`Sink`](futures_sink::Sink), a reader a [`Stream`](futures_core::Stream).
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
//! let batch = RecordBatch::try_from_iter([("key", keys)])?;
//!
//! let node = weir::Node::builder().workers(1).open()?;
//! node.join(&[node.as_member()])?; // the same list on every node
//! let query = node.query(1).open()?;
//! let shuffle = query.shuffle(1, batch.schema()).hash(&["key"]).open()?;
//! let (mut writer, mut reader) = (shuffle.writer(0)?, shuffle.reader(0)?);
//!
//! let send = async {
//!     writer.push(batch).await?;
//!     writer.finish().await
//! };
//! let receive = async {
//!     let mut rows = 0;
//!     while let Some(batch) = reader.next_batch().await? {
//!         rows += batch.num_rows();
//!     }
//!     Ok(rows)
//! };
//! let ((), rows) = tokio::try_join!(send, receive)?;
//! assert_eq!(rows, 4);
//! # Ok(())
//! # }
//! ```
//!
//! On every member: a [`Node`], joined with the same list of [`Member`]s; for
//! each query a [`Query`] under the same id, and its [`Shuffle`]s with the same
//! options. Every producing worker opens a [`Writer`], pushes, and finishes;
//! every consuming one opens a [`Reader`] and takes batches to the end, or
//! drops it (LIMIT).
//!
//! # Tasks, threads, workers
//!
//! A worker is a number, below the node's `workers`; it has one writer and one
//! reader of each shuffle. C wants what belongs to a worker to be used by one
//! thread at a time; here every call takes the worker's *turn*, a lock, for its
//! own length. So writers and readers are `Send`, tasks may move between
//! threads, and a worker's tasks may run at the same time; they do not compute
//! in the library at the same time. Give each core a worker.
//!
//! Nobody parks a thread and nobody polls in a loop: a task without work sleeps
//! until the worker's descriptor says that something happened. All tasks of that
//! worker try again then, which makes one worker for hundreds of tasks a poor
//! choice. Use a worker from one runtime at a time.
//!
//! **The rule against deadlocks.** Rings are bounded. A task that waits for room
//! does not keep other tasks from reading: let readers and writers run as tasks
//! of their own, or `join!` them, as above. A task that pushes everything before
//! it begins to read may wait for ever.
//!
//! # Batches
//!
//! A received batch lies in the ring: what is held is space that its sender
//! lacks. Drop batches before taking more, keep [`detach`]ed copies, or have the
//! reader copy them ([`Hold`]). A batch keeps its node open.
//!
//! Pushing reads the batch's own buffers, and holds them until the rings have
//! taken its rows.
//!
//! Texts of a batch are checked to be UTF-8 as it arrives, since programs in
//! other languages may push any bytes
//! ([`trust_texts`](ShuffleBuilder::trust_texts) leaves that out). Over `shm` and
//! `verbs` members write into memory that the reader has mapped: this crate is
//! sound as long as no member's program breaks the library's protocol on
//! purpose. Where that may be, [`Hold::Copy`] copies first and checks the copy.
//!
//! # Memory that peers read by themselves
//!
//! A [`Region`] is published under a [`Name`] on one node; any other, member or
//! not, reads it with a [`Fetch`] ([`Shared`] ones are written, too), one-sided
//! where the network can. Over it, or without it, [`Asks`] are requests with one
//! answer: also for names that nobody has published yet.
//!
//! # Ends
//!
//! A future that is dropped before its end (a timeout, a branch of `select!`):
//!
//! | of | what becomes of it |
//! | --- | --- |
//! | [`Writer::push`], `push_to`, `send` | the writer has the batch, and goes on with it at its next call: do not push it again |
//! | [`Writer::push_all`] | the same of each batch that it has taken of the stream |
//! | [`Writer::drain`], [`Writer::finish`] | nothing is lost: call it again |
//! | [`Reader::next_batch`], [`Asks::next`], streams | nothing is lost: the next call gives it |
//! | `feed`, `send_all` and, in generic code, `send` of `futures::SinkExt` | **its batch is gone** if the sink was not ready for it yet |
//! | [`Fetch`]: gets | what was read **is gone**, and a buffer that was given |
//! | [`Fetch::put`], [`Fetch::ask`] | not begun, under way or done: **it does not say**; the answer is gone |
//! | [`Node::join_seed`], [`Node::close`] | it goes on by itself |
//!
//! | what else is dropped | what it does |
//! | --- | --- |
//! | [`Writer`], not finished | aborts the query on all members |
//! | [`Reader`], not at its end | its producers hear that it wants no more |
//! | the last handle of a [`Query`] | closes it; aborts it if a part is missing |
//! | the last handle of a [`Node`] | closes it, see there |
//!
//! So safe code cannot close a node under a query, nor a query under its
//! writers, and a panic or a dropped task fails the query on the other members
//! instead of leaving them waiting.
//!
//! # Errors
//!
//! An [`Error`] has a kind, a message, and a [`Scope`] that says what has to be
//! made anew: this call, the query, the peer, the node. A failed query fails on
//! all members with the same kind and message.
//!
//! # What is not here
//!
//! C's own loop (`weir/worker.h`), rows one at a time (`weir/row.h`), the
//! simulator (`weir/sim.h`): these are in `weir_sys`. Whole plans
//! (`weir/plan.h`) are not.
//!
//! Rust 1.85 or later, Linux, little-endian; tokio and `arrow` 59.

#![deny(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks)]

mod ask;
mod batch;
mod error;
mod fetch;
mod hub;
mod lent;
mod log;
mod member;
mod node;
mod node_builder;
mod operation;
mod peer;
mod query;
mod queue;
mod reader;
mod region;
mod report;
mod shuffle;
mod writer;

pub use ask::{Ask, Asks, ASK_BYTES};
pub use batch::detach;
pub use error::{Error, ErrorKind, Result, Scope};
pub use fetch::{Fetch, FetchBuilder};
pub use lent::Lent;
pub use log::LogLevel;
pub use member::Member;
pub use node::Node;
pub use node_builder::NodeBuilder;
pub use peer::Peer;
pub use query::{Query, QueryBuilder};
pub use queue::Parcel;
pub use reader::{Hold, Next, Reader};
pub use region::{Memory, Name, Region, Shared};
pub use report::{LinkStats, NodeStats};
pub use shuffle::{Partitioning, Shuffle, ShuffleBuilder};
pub use writer::{EdgeStats, Push, Wanted, Writer};
