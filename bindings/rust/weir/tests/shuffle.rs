// SPDX-License-Identifier: Apache-2.0
//! Rows arrive, once, where they belong.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, LargeListArray, LargeStringArray,
    ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields};
use common::*;
use futures::{SinkExt, StreamExt, TryStreamExt};
use weir::{
    detach, ErrorKind, Hold, Next, Node, Partitioning, Push, Query, Shuffle,
    Wanted,
};

fn open(
    nodes: &[Node],
    by: &Partitioning,
    to_nodes: bool,
) -> Vec<(Query, Shuffle)> {
    let id = query_id();
    nodes
        .iter()
        .map(|node| {
            let query = node.query(id).open().unwrap();
            let shuffle = query.shuffle(1, table_schema()).by(by.clone());
            let shuffle = if to_nodes { shuffle.to_nodes() } else { shuffle };
            let shuffle = shuffle.open().unwrap();
            (query, shuffle)
        })
        .collect()
}

/// Every worker of every node pushes `rows` rows in batches of 1000; what each
/// destination received.
async fn run(
    nodes: &[Node],
    workers: u32,
    by: Partitioning,
    rows: i64,
) -> Vec<Vec<i64>> {
    run_to(nodes, workers, by, rows, false).await
}

/// The same, to workers or to nodes.
async fn run_to(
    nodes: &[Node],
    workers: u32,
    by: Partitioning,
    rows: i64,
    to_nodes: bool,
) -> Vec<Vec<i64>> {
    let opened = open(nodes, &by, to_nodes);
    let mut writing = Vec::new();
    let mut reading = Vec::new();
    for (n, (_, shuffle)) in opened.iter().enumerate() {
        for w in 0..workers {
            let first = (n as i64 * workers as i64 + w as i64) * rows;
            let mut writer = shuffle.writer(w).unwrap();
            writing.push(tokio::spawn(async move {
                for at in (0..rows).step_by(1000) {
                    let batch = table(first + at, 1000.min(rows - at));
                    assert_eq!(writer.push(batch).await?, Wanted::More);
                }
                writer.finish().await
            }));
            let mut reader = shuffle.reader(w).unwrap();
            reading.push(tokio::spawn(async move {
                let mut keys = Vec::new();
                while let Some(batch) = reader.next().await {
                    keys.extend(keys_of(&batch?));
                }
                Ok::<_, weir::Error>((reader.destination(), keys))
            }));
        }
    }
    for task in writing {
        within(task).await.unwrap().unwrap();
    }
    let n = if to_nodes { nodes.len() } else { reading.len() };
    let mut received = vec![Vec::new(); n];
    for task in reading {
        let (destination, keys) = within(task).await.unwrap().unwrap();
        received[destination as usize].extend(keys);
    }
    received
}

fn sorted(received: &[Vec<i64>]) -> Vec<i64> {
    let mut all = received.concat();
    all.sort_unstable();
    all
}

async fn all_partitionings(transport: &str) {
    let nodes = cluster(2, 2, transport);
    let n = 4 * 20_000;
    let every = (0..n).collect::<Vec<i64>>();

    let hash = Partitioning::Hash(vec!["key".into()]);
    let by_hash = run(&nodes, 2, hash.clone(), 20_000).await;
    assert_eq!(sorted(&by_hash), every);
    let mut again = run(&nodes, 2, hash, 20_000).await;
    for (a, b) in by_hash.into_iter().zip(&mut again) {
        let mut a = a;
        a.sort_unstable();
        b.sort_unstable();
        assert_eq!(a, *b, "the same keys at the same destination");
    }

    let keys: ArrayRef = Arc::new(Int64Array::from(vec![100, 5_000, 70_000]));
    let bounds = RecordBatch::try_from_iter([("key", keys)]).unwrap();
    let range = Partitioning::Range(vec!["key".into()], bounds);
    let by_range = run(&nodes, 2, range, 20_000).await;
    assert_eq!(sorted(&by_range), every);
    assert_eq!(
        by_range.iter().map(Vec::len).collect::<Vec<_>>(),
        [100, 4_900, 65_000, 10_000]
    );

    for by in [Partitioning::RoundRobin, Partitioning::Random] {
        let received = run(&nodes, 2, by, 20_000).await;
        assert_eq!(sorted(&received), every);
        assert!(received.iter().all(|r| !r.is_empty()));
    }
    for received in run(&nodes, 2, Partitioning::Broadcast, 20_000).await {
        assert_eq!(sorted(&[received]), every);
    }

    let hash = Partitioning::Hash(vec!["key".into()]);
    let by_node = run_to(&nodes, 2, hash, 20_000, true).await;
    assert_eq!(by_node.len(), 2);
    assert_eq!(sorted(&by_node), every);
    let all = Partitioning::Broadcast;
    for received in run_to(&nodes, 2, all, 20_000, true).await {
        assert_eq!(sorted(&[received]), every);
    }
    for node in nodes {
        within(node.close()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_partitioning_over_shm() {
    all_partitionings("shm").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_partitioning_over_tcp() {
    all_partitionings("tcp").await;
}

#[tokio::test]
async fn one_thread_runs_a_whole_cluster() {
    let nodes = cluster(3, 2, "auto");
    let hash = Partitioning::Hash(vec!["text".into()]);
    let received = run(&nodes, 2, hash, 10_000).await;
    assert_eq!(sorted(&received), (0..60_000).collect::<Vec<_>>());
}

/// Two shuffles: sums by key modulo 100, then all to one worker.
async fn two_stages(transport: &str, flow: i64) {
    let nodes = cluster(2, 2, transport);
    let id = query_id();
    let mut tasks = Vec::new();
    let mut answer = None;
    for (n, node) in nodes.iter().enumerate() {
        let query = node.query(id).open().unwrap();
        let first = query.shuffle(1, table_schema()).hash(&["key"]).open();
        let first = first.unwrap();
        let second = query.shuffle(2, table_schema()).by(Partitioning::Gather);
        let second = second.consumer_workers(1).consumers(&[0]).open().unwrap();
        for w in 0..2 {
            let mut writer = first.writer(w).unwrap();
            let at = (n as i64 * 2 + w as i64) * flow;
            tasks.push(tokio::spawn(async move {
                let rows = (at..at + flow)
                    .step_by(500)
                    .map(|i| Ok::<_, weir::Error>(table(i % 100, 100)));
                writer.push_all(futures::stream::iter(rows)).await
            }));
            let (mut reader, mut writer) =
                (first.reader(w).unwrap(), second.writer(w).unwrap());
            tasks.push(tokio::spawn(async move {
                let mut counts = HashMap::<i64, i64>::new();
                while let Some(batch) = reader.try_next().await? {
                    for key in keys_of(&batch) {
                        *counts.entry(key).or_default() += 1;
                    }
                }
                for (key, count) in counts {
                    let _ =
                        writer.push(table(key * 1_000_000 + count, 1)).await?;
                }
                writer.finish().await
            }));
        }
        if n == 0 {
            let reader = second.reader(0).unwrap().hold(Hold::Copy);
            answer = Some(tokio::spawn(reader.try_collect::<Vec<_>>()));
        }
    }
    let answer = within(answer.unwrap()).await.unwrap().unwrap();
    for task in tasks {
        within(task).await.unwrap().unwrap();
    }
    let mut found = answer.iter().flat_map(keys_of).collect::<Vec<_>>();
    found.sort_unstable();
    let mut counts = HashMap::<i64, i64>::new();
    for at in [0, flow, 2 * flow, 3 * flow] {
        for i in (at..at + flow).step_by(500) {
            for key in i % 100..i % 100 + 100 {
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    let mut wanted =
        counts.iter().map(|(k, c)| k * 1_000_000 + c).collect::<Vec<_>>();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stages_equal_a_plain_computation() {
    two_stages("shm", 100_000).await;
    two_stages("tcp", 100_001).await;
}

#[tokio::test]
async fn vector_sends_rows_where_the_program_says() {
    let nodes = cluster(1, 3, "shm");
    let (query, shuffle) = open(&nodes, &Partitioning::Vector, false).remove(0);
    assert_eq!(shuffle.destinations(), 3);
    let mut readers =
        (0..3).map(|w| shuffle.reader(w).unwrap()).collect::<Vec<_>>();
    let mut first = shuffle.writer(0).unwrap();
    let mut others = [shuffle.writer(1).unwrap(), shuffle.writer(2).unwrap()];

    let dest = (0..10).map(|i| i % 3).collect::<Vec<u32>>();
    let wrong = first.push_to(table(0, 10), vec![0; 9]).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Arg);
    let wrong = first.push_to(table(0, 10), vec![3; 10]).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Arg);
    assert!(first.push(table(0, 10)).await.is_err());
    first.send((table(0, 10), dest)).await.unwrap();
    SinkExt::<RecordBatch>::close(&mut first).await.unwrap();
    for writer in &mut others {
        writer.finish().await.unwrap();
    }
    for (w, reader) in readers.iter_mut().enumerate() {
        let mut keys = Vec::new();
        while let Some(batch) = reader.next_batch().await.unwrap() {
            assert_eq!(reader.source(), (0, 0));
            keys.extend(keys_of(&batch));
        }
        let w = w as i64;
        assert_eq!(keys, (0..10).filter(|k| k % 3 == w).collect::<Vec<_>>());
        assert!(reader.source_ended(0, 0));
    }
    assert_eq!(first.stats(0).unwrap().rows, 4);
    assert!(query.status().is_ok());
}

/// The rows of `table` with texts in another layout.
fn in_layout(first: i64, n: i64, layout: usize) -> RecordBatch {
    let plain = table(first, n);
    let texts = || (first..first + n).map(text_of);
    let texts: ArrayRef = match layout {
        0 => return plain,
        1 => Arc::new(texts().collect::<LargeStringArray>()),
        2 => Arc::new(texts().collect::<StringViewArray>()),
        _ => {
            let texts: Vec<_> = texts().collect();
            let texts = texts.iter().map(Option::as_deref);
            Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
        }
    };
    let keys = plain.column(0).clone();
    RecordBatch::try_from_iter_with_nullable([
        ("key", keys, false),
        ("text", texts, true),
    ])
    .unwrap()
}

#[tokio::test]
async fn readers_get_the_schema_whatever_the_layout() {
    let nodes = cluster(1, 1, "shm");
    let by = Partitioning::Hash(vec!["text".into()]);
    let (_query, shuffle) = open(&nodes, &by, false).remove(0);
    let mut writer = shuffle.writer(0).unwrap();
    let mut reader = shuffle.reader(0).unwrap();
    let first = 1_000_000_000; // texts of more than a view has room for
    let pushed = tokio::spawn(async move {
        for i in 0..16 {
            let batch = in_layout(first + i * 700, 900, i as usize % 4);
            writer.push(batch.slice(100, 700)).await?;
        }
        writer.finish().await
    });
    let mut keys = Vec::new();
    while let Some(batch) = reader.next().await {
        keys.extend(keys_of(&batch.unwrap()));
    }
    pushed.await.unwrap().unwrap();
    keys.sort_unstable();
    let wanted = first + 100..first + 100 + 16 * 700;
    assert_eq!(keys, wanted.collect::<Vec<_>>());
}

/// Lists of numbers, some of them null or empty, in 32-bit or 64-bit offsets.
fn lists(first: i64, n: i64, large: bool) -> ArrayRef {
    let list = |i: i64| {
        let items =
            (0..i.rem_euclid(4)).map(move |j| (j != 2).then_some(i + j));
        (i % 6 != 0).then(|| items.collect::<Vec<_>>())
    };
    let all = (first..first + n).map(list);
    if large {
        Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(all))
    } else {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(all))
    }
}

/// Maps of texts to numbers.
fn maps(first: i64, n: i64) -> ArrayRef {
    let names = StringBuilder::new();
    let mut maps = MapBuilder::new(None, names, Int64Builder::new());
    for i in first..first + n {
        for j in 0..i.rem_euclid(3) {
            maps.keys().append_value(format!("name {i} {j}"));
            maps.values().append_option((i % 5 != 0).then_some(j));
        }
        maps.append(i % 4 != 0).unwrap();
    }
    Arc::new(maps.finish())
}

/// Rows with a struct in a struct, a list and a map, some of them null at each
/// depth; texts are views and offsets of lists large if `other`.
fn nested(first: i64, n: i64, other: bool) -> RecordBatch {
    let keys: ArrayRef =
        Arc::new((first..first + n).map(Some).collect::<Int64Array>());
    let texts = (first..first + n).map(text_of);
    let (texts, kind): (ArrayRef, _) = if other {
        (Arc::new(texts.collect::<StringViewArray>()), DataType::Utf8View)
    } else {
        (Arc::new(texts.collect::<StringArray>()), DataType::Utf8)
    };
    let some =
        |of: i64| Some((first..first + n).map(|i| i % of != 0).collect());
    let inner = Fields::from(vec![Field::new("text", kind, true)]);
    let deep = StructArray::new(inner.clone(), vec![texts], some(7));
    let outer = Fields::from(vec![
        Field::new("twice", DataType::Int64, false),
        Field::new("deep", DataType::Struct(inner), true),
    ]);
    let whole =
        StructArray::new(outer, vec![keys.clone(), Arc::new(deep)], some(5));
    RecordBatch::try_from_iter_with_nullable([
        ("key", keys, false),
        ("whole", Arc::new(whole) as ArrayRef, true),
        ("list", lists(first, n, other), true),
        ("map", maps(first, n), true),
    ])
    .unwrap()
}

async fn move_nested(transport: &str) {
    let nodes = cluster(2, 1, transport);
    let id = query_id();
    let schema = nested(0, 1, false).schema();
    let mut writing = Vec::new();
    let mut reading = Vec::new();
    let mut kept = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        let query = node.query(id).open().unwrap();
        let by = Partitioning::Hash(vec!["key".into()]);
        let shuffle = query.shuffle(1, schema.clone()).by(by).open().unwrap();
        let mut writer = shuffle.writer(0).unwrap();
        let mut reader = shuffle.reader(0).unwrap();
        writing.push(tokio::spawn(async move {
            for i in 0..20 {
                let first = (n as i64 * 20 + i) * 700;
                let batch = nested(first - 9, 720, i % 2 != 0);
                writer.push(batch.slice(9, 700)).await?;
            }
            writer.finish().await
        }));
        reading.push(tokio::spawn(async move {
            let mut batches = Vec::new();
            while let Some(batch) = reader.next().await {
                batches.push(detach(&batch?)?);
            }
            Ok::<_, weir::Error>(batches)
        }));
        kept.push((query, shuffle));
    }
    for task in writing {
        within(task).await.unwrap().unwrap();
    }
    let mut rows = 0;
    let mut seen = HashMap::new();
    for task in reading {
        for batch in within(task).await.unwrap().unwrap() {
            let keys = batch.column(0).as_primitive::<Int64Type>();
            for (i, &key) in keys.values().iter().enumerate() {
                let wanted = nested(key, 1, false);
                assert_eq!(batch.slice(i, 1), wanted, "row {key}");
                *seen.entry(key).or_insert(0) += 1;
                rows += 1;
            }
        }
    }
    assert_eq!((rows, seen.len()), (40 * 700, 40 * 700));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn structs_lists_and_maps_travel() {
    move_nested("shm").await;
    move_nested("tcp").await;
}

#[tokio::test]
async fn columns_of_another_type_are_refused() {
    let nodes = cluster(1, 1, "shm");
    let (_query, shuffle) =
        open(&nodes, &Partitioning::RoundRobin, false).remove(0);
    let mut writer = shuffle.writer(0).unwrap();
    let keys: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1]));
    let text: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["x"]));
    let fields = [("key", keys), ("text", text)];
    let batch = RecordBatch::try_from_iter(fields).unwrap();
    let error = writer.push(batch.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("key is Int32"), "{error}");
    let error = writer.push(batch.project(&[1]).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
}

#[tokio::test]
async fn a_filter_drops_rows_before_they_are_copied() {
    let nodes = cluster(1, 1, "shm");
    let hash = Partitioning::Hash(vec!["key".into()]);
    let (_query, shuffle) = open(&nodes, &hash, false).remove(0);
    let mut reader = shuffle.reader(0).unwrap();
    reader.filter_open(10).unwrap();
    let wrong: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1]));
    assert!(reader.filter_add(&[wrong]).is_err());
    let keys: ArrayRef = Arc::new(Int64Array::from_iter(0..10));
    reader.filter_add(&[keys]).unwrap();
    reader.filter_send().unwrap();
    assert_eq!(reader.filter_send().unwrap_err().kind(), ErrorKind::State);

    let mut writer = shuffle.writer(0).unwrap();
    let write = async {
        for at in (0..100_000).step_by(1000) {
            writer.push(table(at, 1000)).await?;
        }
        writer.finish().await
    };
    let read = async {
        let mut n = 0;
        let mut wanted = 0;
        while let Some(batch) = reader.next_batch().await? {
            n += batch.num_rows();
            wanted += keys_of(&batch).iter().filter(|k| **k < 10).count();
        }
        Ok((n, wanted))
    };
    let ((), (n, wanted)) =
        within(async { tokio::try_join!(write, read) }).await.unwrap();
    assert_eq!(wanted, 10);
    assert_eq!(n as u64 + writer.stats(0).unwrap().filtered, 100_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_batches_are_held_as_copies() {
    let nodes = cluster(1, 1, "tcp");
    let (_query, shuffle) =
        open(&nodes, &Partitioning::Gather, false).remove(0);
    let mut writer = shuffle.writer(0).unwrap();
    let write = tokio::spawn(async move {
        for at in 0..500 {
            writer.push(table(at * 10_000, 10_000)).await?;
        }
        writer.finish().await
    });
    let reader = shuffle.reader(0).unwrap().hold(Hold::Copy);
    let held = within(reader.try_collect::<Vec<_>>()).await.unwrap();
    within(write).await.unwrap().unwrap();
    assert!(held.len() > 400, "{}", held.len());
    drop((shuffle, _query));
    for node in nodes {
        within(node.close()).await.unwrap(); // copies do not keep it open
    }
    let keys = held.iter().flat_map(keys_of).collect::<Vec<_>>();
    assert_eq!(keys, (0..5_000_000).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_says_so_and_goes_on_when_batches_are_dropped() {
    let nodes = cluster(1, 1, "shm");
    let (_query, shuffle) =
        open(&nodes, &Partitioning::Gather, false).remove(0);
    let mut writer = shuffle.writer(0).unwrap();
    let write = tokio::spawn(async move {
        for at in 0..200 {
            writer.push(table(at * 10_000, 10_000)).await?;
        }
        writer.finish().await
    });
    let mut reader = shuffle.reader(0).unwrap();
    let (mut held, mut times, mut keys) = (Vec::new(), 0, Vec::new());
    let all = async {
        while let Some(batch) = reader.next().await {
            match batch {
                Ok(batch) => {
                    keys.extend(keys_of(&batch));
                    held.push(batch);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Held, "{error}");
                    times += 1;
                    held.clear();
                }
            }
        }
    };
    within(all).await;
    within(write).await.unwrap().unwrap();
    assert!(times > 10, "{times}");
    assert_eq!(keys, (0..2_000_000).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_waits_while_another_task_holds_its_batches() {
    let nodes = cluster(1, 1, "shm");
    let (_query, shuffle) =
        open(&nodes, &Partitioning::Gather, false).remove(0);
    let mut writer = shuffle.writer(0).unwrap();
    let write = tokio::spawn(async move {
        for at in 0..200 {
            writer.push(table(at * 10_000, 10_000)).await?;
        }
        writer.finish().await
    });
    let (to, mut from) = tokio::sync::mpsc::channel::<RecordBatch>(100);
    let mut reader = shuffle.reader(0).unwrap().hold(Hold::LendAndWait);
    let read = tokio::spawn(async move {
        while let Some(batch) = reader.next_batch().await? {
            to.send(batch).await.unwrap();
        }
        Ok::<_, weir::Error>(())
    });
    let mut n = 0;
    let mut kept = Vec::new();
    while let Some(batch) = within(from.recv()).await {
        n += batch.num_rows();
        kept.push(detach(&batch).unwrap());
    }
    assert_eq!(n, 2_000_000);
    within(read).await.unwrap().unwrap();
    within(write).await.unwrap().unwrap();
    let keys = kept.iter().flat_map(keys_of).collect::<Vec<_>>();
    assert_eq!(keys, (0..2_000_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_batch_keeps_its_node_open() {
    let node = cluster(1, 1, "shm").remove(0);
    let batches = {
        let (_query, shuffle) =
            open(std::slice::from_ref(&node), &Partitioning::Gather, false)
                .remove(0);
        let mut writer = shuffle.writer(0).unwrap();
        let mut reader = shuffle.reader(0).unwrap();
        writer.send(table(0, 100)).await.unwrap();
        writer.finish().await.unwrap();
        let mut batches = Vec::new(); // the first frames of a ring are short
        while let Some(batch) = reader.next_batch().await.unwrap() {
            batches.push(batch);
        }
        batches
    };
    let error = node.close().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    let keys = batches.iter().flat_map(keys_of).collect::<Vec<_>>();
    assert_eq!(keys, (0..100).collect::<Vec<_>>());
    let column = batches[0].column(0).slice(10, 5);
    drop(batches);
    assert_eq!(column.len(), 5); // still memory of the ring
}

#[test]
fn threads_without_tokio_wait_by_themselves() {
    let nodes = cluster(2, 1, "shm");
    let opened = open(&nodes, &Partitioning::Hash(vec!["key".into()]), false);
    let keys = std::thread::scope(|scope| {
        let threads =
            nodes.iter().zip(&opened).enumerate().map(|(n, (node, o))| {
                scope.spawn(move || blocking_worker(node, &o.1, n as i64))
            });
        let threads = threads.collect::<Vec<_>>();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(sorted(&keys), (0..100_000).collect::<Vec<_>>());
}

fn blocking_worker(node: &Node, shuffle: &Shuffle, n: i64) -> Vec<i64> {
    let mut writer = shuffle.writer(0).unwrap();
    let mut reader = shuffle.reader(0).unwrap();
    let mut batches =
        (0..50).map(|i| table(n * 50_000 + i * 1000, 1000)).fuse();
    let (mut keys, mut full, mut finished, mut ended) =
        (Vec::new(), false, false, false);
    while !finished || !ended {
        loop {
            match reader.try_take().unwrap() {
                Next::Batch(batch) => keys.extend(keys_of(&batch)),
                Next::Later => break,
                Next::End => {
                    ended = true;
                    break;
                }
            }
        }
        let push = if full {
            writer.try_drain().unwrap()
        } else if let Some(batch) = batches.next() {
            writer.try_push(&batch).unwrap()
        } else {
            finished = writer.try_finish().unwrap();
            Push::Taken
        };
        full = push == Push::Full;
        if full || (finished && !ended) {
            assert!(node.wait(0, LONG).unwrap(), "hangs");
        }
    }
    keys
}

#[test]
fn a_worker_moves_from_one_runtime_to_the_next() {
    let nodes = cluster(1, 1, "shm");
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let hash = Partitioning::Hash(vec!["key".into()]);
        let received = runtime.block_on(run(&nodes, 1, hash, 50_000));
        assert_eq!(received[0].len(), 50_000);
        std::mem::forget(runtime); // it is there, but nobody drives it
    }
}

#[tokio::test]
async fn many_tasks_share_a_worker() {
    let nodes = cluster(1, 1, "shm");
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let nodes = nodes.clone();
        tasks.push(tokio::spawn(async move {
            run(&nodes, 1, Partitioning::Gather, 100_000).await
        }));
    }
    for task in tasks {
        assert_eq!(within(task).await.unwrap()[0].len(), 100_000);
    }
    let stats = nodes[0].stats();
    assert_eq!(stats.rows_received, 800_000);
    assert_eq!(stats.queries_failed, 0);
}

#[tokio::test]
async fn a_seed_gathers_its_members() {
    let nodes =
        (0..3).map(|_| builder("tcp", 1).open().unwrap()).collect::<Vec<_>>();
    let seed = nodes[0].address();
    let joins = nodes.iter().enumerate().map(|(i, node)| {
        let seed = (i > 0).then_some(seed.as_str());
        node.join_seed(seed, 3, Duration::from_secs(30))
    });
    within(futures::future::try_join_all(joins)).await.unwrap();
    assert_eq!(nodes[1].n_members(), 3);
    assert_eq!(nodes[0].number(), Some(0));
    assert_eq!(nodes[2].member(0).unwrap().name, nodes[0].name());
    let received = run(&nodes, 1, Partitioning::RoundRobin, 1000).await;
    assert_eq!(sorted(&received).len(), 3000);
}

#[tokio::test]
async fn members_come_and_go() {
    let nodes =
        (0..3).map(|_| builder("tcp", 1).open().unwrap()).collect::<Vec<_>>();
    let mut members = nodes.iter().map(Node::as_member).collect::<Vec<_>>();
    for node in &nodes[..2] {
        node.join(&members[..2]).unwrap();
        assert!(node.member(2).is_none());
        node.add_member(2, &members[2]).unwrap();
    }
    nodes[2].join(&members).unwrap();
    let received = run(&nodes, 1, Partitioning::RoundRobin, 999).await;
    assert_eq!(sorted(&received).len(), 3 * 999);
    for node in &nodes[1..] {
        node.remove_member(0).unwrap();
    }
    let error = nodes[1].remove_member(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    members[0] = weir::Member::nobody();
    let late = builder("tcp", 1).open().unwrap();
    members.push(late.as_member());
    late.join(&members).unwrap();
    assert_eq!(late.number(), Some(3));
}
