// SPDX-License-Identifier: Apache-2.0
//! Tasks that panic, are cancelled or dropped; members that go: nobody waits
//! for ever, and the node runs the next query.

mod common;

use common::*;
use tokio::task::JoinHandle;
use weir::{Error, ErrorKind, Node, Query, Reader, Shuffle, Wanted, Writer};

/// A query of one worker on each node, rows by key.
fn open(nodes: &[Node]) -> Vec<(Query, Shuffle)> {
    let id = query_id();
    nodes
        .iter()
        .map(|node| {
            let query = node.query(id).open().unwrap();
            let shuffle = query.shuffle(1, table_schema()).hash(&["key"]);
            let shuffle = shuffle.open().unwrap();
            (query, shuffle)
        })
        .collect()
}

/// Pushes until it fails, or nobody wants more: rows that fill all rings.
fn pour(mut writer: Writer) -> JoinHandle<Result<u64, Error>> {
    tokio::spawn(async move {
        for at in 0.. {
            if writer.push(table(at * 1000, 1000)).await? == Wanted::NoMore {
                writer.finish().await?;
                return Ok(at as u64);
            }
        }
        unreachable!()
    })
}

fn drain(mut reader: Reader) -> JoinHandle<Result<u64, Error>> {
    tokio::spawn(async move {
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().await? {
            rows += batch.num_rows() as u64;
        }
        Ok(rows)
    })
}

/// The same nodes run a query to its end.
async fn good(nodes: &[Node]) {
    let opened = open(nodes);
    let reading = opened.iter().map(|(_, s)| drain(s.reader(0).unwrap()));
    let reading = reading.collect::<Vec<_>>();
    for (_, shuffle) in &opened {
        let mut writer = shuffle.writer(0).unwrap();
        writer.push(table(0, 1000)).await.unwrap();
        writer.finish().await.unwrap();
    }
    let mut rows = 0;
    for task in reading {
        rows += within(task).await.unwrap().unwrap();
    }
    assert_eq!(rows, 1000 * nodes.len() as u64);
}

async fn fails_with<T>(task: JoinHandle<Result<T, Error>>, kind: ErrorKind)
where
    T: std::fmt::Debug,
{
    let error = within(task).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
}

macro_rules! over {
    ($($name:ident = $test:ident;)*) => {
        mod over_shm {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::within(super::$test("shm")).await;
            })*
        }
        mod over_tcp {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::within(super::$test("tcp")).await;
            })*
        }
    };
}

over! {
    a_task_that_panics_fails_the_query_everywhere = panics;
    a_task_that_is_aborted_fails_the_query_everywhere = aborted;
    a_query_that_is_cancelled_says_why = cancelled;
    a_reader_that_is_dropped_stops_its_producers = limit;
    a_member_that_goes_is_named = lost;
    a_deadline_ends_the_query = deadline;
}

async fn panics(transport: &str) {
    let nodes = cluster(2, 1, transport);
    let mut opened = open(&nodes);
    let (query, shuffle) = opened.pop().unwrap();
    let (mut writer, reader) =
        (shuffle.writer(0).unwrap(), shuffle.reader(0).unwrap());
    let (_query, shared) = opened.pop().unwrap();
    let write = pour(shared.writer(0).unwrap());
    let read = drain(shared.reader(0).unwrap());
    let task = tokio::spawn(async move {
        let _all = (query, shuffle, reader);
        writer.push(table(0, 10)).await.unwrap();
        panic!("of a test");
    });
    assert!(within(task).await.unwrap_err().is_panic());
    fails_with(write, ErrorKind::Aborted).await;
    fails_with(read, ErrorKind::Aborted).await;
    drop((_query, shared));
    good(&nodes).await;
}

async fn aborted(transport: &str) {
    let nodes = cluster(2, 1, transport);
    let opened = open(&nodes);
    let writing = opened.iter().map(|(_, s)| pour(s.writer(0).unwrap()));
    let mut writing = writing.collect::<Vec<_>>();
    // Nobody takes rows, so it waits for room when it is aborted, or soon.
    let read = drain(opened[0].1.reader(0).unwrap());
    let _idle = opened[1].1.reader(0).unwrap();
    let task = writing.pop().unwrap();
    task.abort();
    assert!(within(task).await.unwrap_err().is_cancelled());
    fails_with(writing.pop().unwrap(), ErrorKind::Aborted).await;
    fails_with(read, ErrorKind::Aborted).await;
    drop((opened, _idle));
    good(&nodes).await;
}

async fn cancelled(transport: &str) {
    let nodes = cluster(2, 1, transport);
    let opened = open(&nodes);
    let writing = opened.iter().map(|(_, s)| pour(s.writer(0).unwrap()));
    let reading = opened.iter().map(|(_, s)| drain(s.reader(0).unwrap()));
    let tasks = writing.chain(reading).collect::<Vec<_>>();
    tokio::task::yield_now().await;
    opened[1].0.cancel("the user has gone \u{2014} home");
    for task in tasks {
        let error = within(task).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains("the user has gone"), "{error}");
    }
    assert!(opened[0].0.status().is_err());
    drop(opened);
    good(&nodes).await;
}

async fn limit(transport: &str) {
    let nodes = cluster(2, 1, transport);
    let opened = open(&nodes);
    let writing = opened.iter().map(|(_, s)| pour(s.writer(0).unwrap()));
    let writing = writing.collect::<Vec<_>>();
    for (_, shuffle) in &opened {
        let mut reader = shuffle.reader(0).unwrap();
        assert!(within(reader.next_batch()).await.unwrap().is_some());
    }
    for task in writing {
        within(task).await.unwrap().unwrap(); // Wanted::NoMore
    }
    assert!(opened[0].0.status().is_ok());
    drop(opened);
    good(&nodes).await;
}

async fn lost(transport: &str) {
    let mut nodes = cluster(3, 1, transport);
    let mut opened = open(&nodes);
    let gone = nodes.pop().unwrap();
    let name = gone.name();
    let part = opened.pop();
    let writing = opened.iter().map(|(_, s)| pour(s.writer(0).unwrap()));
    let reading = opened.iter().map(|(_, s)| drain(s.reader(0).unwrap()));
    let tasks = writing.chain(reading).collect::<Vec<_>>();
    drop((part, gone)); // as in a program that gives up
    for task in tasks {
        let error = within(task).await.unwrap().unwrap_err();
        let kinds = [ErrorKind::Aborted, ErrorKind::PeerLost];
        assert!(kinds.contains(&error.kind()), "{error}");
        assert!(error.message().contains(&name), "{error}");
    }
}

async fn deadline(transport: &str) {
    let nodes = cluster(1, 1, transport);
    let query = nodes[0].query(query_id());
    let query = query.deadline(std::time::Duration::from_millis(100));
    let query = query.open().unwrap();
    let shuffle = query.shuffle(1, table_schema()).hash(&["key"]);
    let shuffle = shuffle.open().unwrap();
    let reader = shuffle.reader(0).unwrap();
    fails_with(pour(shuffle.writer(0).unwrap()), ErrorKind::Deadline).await;
    fails_with(drain(reader), ErrorKind::Deadline).await;
    drop((query, shuffle));
    good(&nodes).await;
}
