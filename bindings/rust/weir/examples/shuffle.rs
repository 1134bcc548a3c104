// SPDX-License-Identifier: Apache-2.0
//! Two workers of one process shuffle a batch by its key: every row comes out
//! once, and all rows of a key on one worker.
//!
//!     cargo run --example shuffle

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

const WORKERS: u32 = 2;
const ROWS: i64 = 100_000;
const KEYS: i64 = 1000;

/// Push a share of the rows, and count those that arrive, by their key.
async fn worker(
    shuffle: &weir::Shuffle,
    id: u32,
) -> weir::Result<HashMap<i64, u64>> {
    let mut writer = shuffle.writer(id)?;
    let mut reader = shuffle.reader(id)?;
    let send = async {
        let mine =
            (0..ROWS).filter(|row| row % i64::from(WORKERS) == i64::from(id));
        let keys: ArrayRef =
            Arc::new(Int64Array::from_iter_values(mine.map(|row| row % KEYS)));
        let batch =
            RecordBatch::try_from_iter([("key", keys)]).expect("one column");
        writer.push(batch).await?;
        writer.finish().await
    };
    let receive = async {
        let mut seen = HashMap::new();
        while let Some(batch) = reader.next_batch().await? {
            for key in batch.column(0).as_primitive::<Int64Type>().values() {
                *seen.entry(*key).or_insert(0) += 1;
            }
        }
        Ok(seen)
    };
    let ((), seen) = tokio::try_join!(send, receive)?;
    Ok(seen)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let schema = RecordBatch::try_from_iter([("key", empty)])?.schema();
    let node = weir::Node::builder().workers(WORKERS).open()?;
    node.join(&[node.as_member()])?; // the same list on every node
    let query = node.query(1).open()?;
    let shuffle = query.shuffle(1, schema).hash(&["key"]).open()?;
    let (first, second) =
        tokio::try_join!(worker(&shuffle, 0), worker(&shuffle, 1))?;

    let rows: u64 = first.values().chain(second.values()).sum();
    println!(
        "worker 0: {} keys, worker 1: {} keys, {rows} rows",
        first.len(),
        second.len()
    );
    assert_eq!(rows, ROWS as u64);
    assert_eq!(first.len() + second.len(), KEYS as usize, "a key is on both");
    Ok(())
}
