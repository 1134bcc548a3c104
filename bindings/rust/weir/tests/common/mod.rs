// SPDX-License-Identifier: Apache-2.0
//! What the tests share: clusters in one process, tables, a generator.
#![allow(dead_code)] // no test uses all of it

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use weir::{Member, Node, NodeBuilder};

/// So long that only a hang takes it.
pub const LONG: Duration = Duration::from_secs(60);

/// Fail a test that hangs, instead of hanging.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("hangs"),
    }
}

/// Names are unique in the process: tests run at the same time.
pub fn builder(transport: &str, workers: u32) -> NodeBuilder {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let i = NEXT.fetch_add(1, Ordering::Relaxed);
    Node::builder()
        .name(format!("rust-{}-{i}", std::process::id()))
        .transport(transport)
        .workers(workers)
        .memory_bytes(256 << 20)
        .log(weir::LogLevel::Error, |_, line| println!("{line}"))
}

pub fn join_all(nodes: &[Node]) {
    let members = nodes.iter().map(Node::as_member).collect::<Vec<Member>>();
    for node in nodes {
        node.join(&members).unwrap();
    }
}

pub fn cluster(n: usize, workers: u32, transport: &str) -> Vec<Node> {
    let nodes = (0..n)
        .map(|_| builder(transport, workers).open().unwrap())
        .collect::<Vec<_>>();
    join_all(&nodes);
    nodes
}

/// A query id that no other test of this process uses.
pub fn query_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A generator of numbers, so that a failure is repeated exactly.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // The constants of Knuth's MMIX.
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub fn table_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, false),
        Field::new("text", DataType::Utf8, true),
    ]))
}

/// Rows `first..first + n`: the key, and a text that is made of it.
pub fn table(first: i64, n: i64) -> RecordBatch {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter(first..first + n));
    let texts = (first..first + n).map(text_of);
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    RecordBatch::try_new(table_schema(), vec![keys, texts]).unwrap()
}

pub fn text_of(key: i64) -> Option<String> {
    (key % 7 != 0).then(|| format!("text \u{e4} {key}"))
}

/// Key and text of each row; panics where the text is not the key's.
pub fn keys_of(batch: &RecordBatch) -> Vec<i64> {
    let keys = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
    let texts = batch.column(1).as_any();
    let texts = texts.downcast_ref::<StringArray>().unwrap();
    for (key, text) in keys.iter().zip(texts) {
        assert_eq!(text.map(str::to_owned), text_of(key.unwrap()));
    }
    keys.values().to_vec()
}
