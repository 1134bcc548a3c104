// SPDX-License-Identifier: Apache-2.0
//! Futures that are dropped before their end, as timeouts and `select!` do it:
//! what becomes of the rows is what the crate's table says.

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use common::*;
use futures::{FutureExt, SinkExt};
use tokio::task::yield_now;
use weir::{
    detach, ErrorKind, Name, Node, Partitioning, Push, Query, Reader, Shuffle,
    Wanted, Writer,
};

/// More than the rings have room for, and than tokio lets a task do at once.
const BATCHES: i64 = 300;
const ROWS: i64 = 1000;

fn open(nodes: &[Node], by: &Partitioning) -> Vec<(Query, Shuffle)> {
    let id = query_id();
    let open = |node: &Node| {
        let query = node.query(id).open().unwrap();
        let shuffle = query.shuffle(1, table_schema()).by(by.clone());
        let shuffle = shuffle.open().unwrap();
        (query, shuffle)
    };
    nodes.iter().map(open).collect()
}

/// From one worker to itself.
fn alone(by: &Partitioning) -> (Query, Writer, Reader) {
    let nodes = cluster(1, 1, "shm");
    let (query, shuffle) = open(&nodes, by).remove(0);
    let ends = (shuffle.writer(0).unwrap(), shuffle.reader(0).unwrap());
    (query, ends.0, ends.1)
}

async fn keys(reader: &mut Reader) -> Result<Vec<i64>, weir::Error> {
    let mut keys = Vec::new();
    while let Some(batch) = reader.next_batch().await? {
        keys.extend(keys_of(&batch));
    }
    Ok(keys)
}

/// Finish, and what arrives.
async fn rest(writer: &mut Writer, reader: &mut Reader) -> Vec<i64> {
    let both = async { tokio::try_join!(writer.finish(), keys(reader)) };
    within(both).await.unwrap().1
}

fn all() -> Vec<i64> {
    (0..BATCHES * ROWS).collect()
}

#[tokio::test]
async fn a_push_that_is_dropped_keeps_its_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    let mut dropped = 0;
    for i in 0..BATCHES {
        let push = writer.push(table(i * ROWS, ROWS));
        dropped += i64::from(push.now_or_never().is_none());
    }
    assert!(dropped > BATCHES / 2, "{dropped}");
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

#[tokio::test]
async fn a_send_that_is_dropped_keeps_its_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        let _ = writer.send(table(i * ROWS, ROWS)).now_or_never();
    }
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

#[tokio::test]
async fn a_push_with_destinations_that_is_dropped_keeps_its_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Vector);
    for i in 0..BATCHES {
        let (batch, to) = (table(i * ROWS, ROWS), vec![0; ROWS as usize]);
        let _ = match i % 2 {
            0 => writer.push_to(batch, to).now_or_never().map(drop),
            _ => writer.send((batch, to)).now_or_never().map(drop),
        };
    }
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

/// As the branch of a `select!` that was not looked at.
#[tokio::test]
async fn a_push_that_was_never_polled_keeps_its_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        drop(writer.push(table(i * ROWS, ROWS)));
    }
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

/// Each batch is read as what it is, though its turn comes later.
#[tokio::test]
async fn batches_that_wait_keep_their_layouts() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        let batch = table(i * ROWS, ROWS);
        let large: LargeStringArray =
            (i * ROWS..(i + 1) * ROWS).map(text_of).collect();
        let columns = [
            ("key", batch.column(0).clone()),
            ("text", Arc::new(large) as ArrayRef),
        ];
        let large = RecordBatch::try_from_iter(columns).unwrap();
        drop(writer.push(if i % 2 == 0 { batch } else { large }));
    }
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

#[tokio::test]
async fn drain_waits_for_what_was_left() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        drop(writer.push(table(i * ROWS, ROWS)));
    }
    assert_eq!(writer.try_drain().unwrap(), Push::Full);
    let write = async {
        assert_eq!(writer.drain().await?, Wanted::More);
        assert_eq!(writer.try_drain()?, Push::Taken);
        writer.finish().await
    };
    let both = async { tokio::try_join!(write, keys(&mut reader)) };
    assert_eq!(within(both).await.unwrap().1, all());
}

/// C has not heard of them yet.
#[tokio::test]
async fn finishing_at_once_leaves_no_batch_behind() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    drop(writer.push(table(0, ROWS)));
    let error = writer.try_finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
    let error = writer.try_push(&table(0, ROWS)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
    let received = rest(&mut writer, &mut reader).await;
    assert_eq!(received, (0..ROWS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_batch_that_was_refused_unheard_is_told_of_at_the_next_call() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    let other: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let other = RecordBatch::try_from_iter([("key", other)]).unwrap();
    drop(writer.push(other));
    let error = writer.push(table(0, ROWS)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    assert!(error.message().starts_with("of an earlier batch: "), "{error}");
    let received = rest(&mut writer, &mut reader).await; // and the later one is
    assert_eq!(received, (0..ROWS).collect::<Vec<_>>());
}

#[tokio::test]
async fn batches_that_nobody_wants_any_more_are_let_go() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        drop(writer.push(table(i * ROWS, ROWS)));
    }
    reader.stop();
    assert_eq!(within(writer.drain()).await.unwrap(), Wanted::NoMore);
    within(writer.finish()).await.unwrap();
}

/// What the table says of the futures crate: it has the batch until the sink is
/// ready for it.
#[tokio::test]
async fn a_feed_that_is_dropped_before_the_sink_is_ready_has_its_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    for i in 0..BATCHES {
        drop(writer.push(table(i * ROWS, ROWS)));
    }
    let late = SinkExt::<RecordBatch>::feed(&mut writer, table(-ROWS, ROWS));
    assert!(late.now_or_never().is_none());
    assert_eq!(rest(&mut writer, &mut reader).await, all());
}

/// A stream that was lent goes on where it was left.
#[tokio::test]
async fn push_all_that_is_dropped_has_lost_nothing_of_its_stream() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    let batches = (0..BATCHES).map(|i| Ok(table(i * ROWS, ROWS)));
    let mut stream = futures::stream::iter(batches);
    let first = writer.push_all::<_, weir::Error>(&mut stream);
    assert!(first.now_or_never().is_none());
    let write = writer.push_all::<_, weir::Error>(&mut stream);
    let both = async { tokio::try_join!(write, keys(&mut reader)) };
    assert_eq!(within(both).await.unwrap().1, all());
}

#[tokio::test]
async fn a_read_that_is_dropped_loses_no_batch() {
    let (_query, mut writer, mut reader) = alone(&Partitioning::Gather);
    let write = async {
        for i in 0..BATCHES {
            writer.push(table(i * ROWS, ROWS)).await?;
            yield_now().await;
        }
        writer.finish().await
    };
    let read = async {
        let mut kept = Vec::new();
        loop {
            tokio::select! {
                biased;
                batch = reader.next_batch() => match batch? {
                    Some(batch) => kept.push(detach(&batch)?),
                    None => break,
                },
                () = yield_now() => {}
            }
        }
        Ok::<_, weir::Error>(kept.iter().flat_map(keys_of).collect::<Vec<_>>())
    };
    let both = async { tokio::try_join!(write, read) };
    assert_eq!(within(both).await.unwrap().1, all());
}

#[tokio::test]
async fn a_wait_for_asks_that_is_dropped_loses_no_ask() {
    let nodes = cluster(2, 1, "shm");
    let asks = nodes[1].asks(1, 0).unwrap();
    let peer = nodes[0].peer(&nodes[1].address()).unwrap();
    let fetch = nodes[0].fetch(0).open().unwrap();
    let ask = async {
        for id in 0..50 {
            let said = fetch.ask(&peer, Name::new(1, id), b"?").await?;
            assert_eq!(said, id.to_le_bytes());
        }
        Ok::<_, weir::Error>(())
    };
    let answer = async {
        let mut answered = 0;
        while answered < 50 {
            tokio::select! {
                biased;
                ask = asks.next() => {
                    let ask = ask?;
                    let id = ask.name().id;
                    ask.answer(&id.to_le_bytes())?;
                    answered += 1;
                }
                () = yield_now() => {}
            }
        }
        Ok(())
    };
    within(async { tokio::try_join!(ask, answer) }).await.unwrap();
}
