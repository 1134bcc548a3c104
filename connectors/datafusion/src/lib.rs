// SPDX-License-Identifier: Apache-2.0
//! The exchange of DataFusion Distributed over Weir.
//!
//! A worker's control messages (plans, metrics) stay on gRPC; the rows of its
//! tasks go through memory that Weir registers: the producer writes each batch
//! into a *slot*, a region, and the consumer fetches it by itself, over shared
//! memory, tcp or RDMA.
//!
//! ```text
//!   worker                                  worker, or coordinator
//!   Server -- execute_task -- slots  ====>  WeirChannelResolver -- streams
//!      tonic server          <------------     plans, metrics (gRPC)
//! ```
//!
//! A worker opens a [`weir::Node`], a [`Server`] on it, and a tonic server for
//! the same [`Worker`](datafusion_distributed::Worker); its URL, made by
//! [`worker_url`], says both addresses. Sessions get a [`WeirChannelResolver`],
//! those of the workers by its
//! [`worker_session`](WeirChannelResolver::worker_session), with which shuffles
//! are pushed: hashed and gathered by the worker instead of a
//! `RepartitionExec`.
//!
//! Memory: of each partition at most 1 MiB, or one batch that is larger, is
//! under way or not yet taken; of that, 4 MiB of a reader's partitions at most
//! are in slots. Those are of the node's `memory_bytes`, and told to
//! DataFusion's memory pool while rows are in them.

mod carried;
mod client;
mod compact;
mod fault;
mod gather;
mod given;
mod group;
mod planner;
mod push;
mod resolver;
mod scan;
mod server;
mod service;
mod slots;
mod source;
mod stream;
mod travel;
mod wire;

pub use fault::caught;
pub use planner::{SUBQUERY, distribute};
pub use resolver::{WeirChannelResolver, push_header, worker_url};
pub use scan::WholeArrays;
pub use server::Server;
pub use service::Control;
