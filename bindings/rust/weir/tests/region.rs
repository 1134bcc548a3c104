// SPDX-License-Identifier: Apache-2.0
//! Regions, fetches, asks, over shm and tcp.

mod common;

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use common::*;
use futures::future::{join_all, poll_fn};
use weir::{Ask, ErrorKind, Fetch, Name, Node, Peer, ASK_BYTES};

const SPACE: u64 = 7;

struct Two {
    owner: Node,
    _reader: Node,
    peer: Peer,
    fetch: Fetch,
}

fn two(transport: &str) -> Two {
    let owner = builder(transport, 1).open().unwrap();
    let reader = builder(transport, 1).open().unwrap();
    let peer = reader.peer(&owner.address()).unwrap();
    let fetch = reader.fetch(0).max_bytes(256 << 10).open().unwrap();
    Two { owner, _reader: reader, peer, fetch }
}

fn bytes(seed: u64, n: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..n).map(|_| random.next() as u8).collect()
}

/// Poll once, so that an operation has begun.
async fn begun<F: Future + Unpin>(future: &mut F) {
    poll_fn(|cx| {
        assert!(std::pin::Pin::new(&mut *future).poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
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
    memory_is_read_at_any_offset = memory;
    bytes_of_the_program_are_read_and_let_go = borrowed;
    a_file_is_read_and_may_be_short = file;
    peers_write_where_they_may = written;
    a_region_that_was_dropped_is_not_found = revoked;
    what_nobody_has_published_is_made_when_asked_for = made;
    asks_are_answered_refused_and_dropped = asked;
    an_owner_that_goes_is_lost = lost;
    gets_beyond_max_bytes_wait_for_room = crowd;
    memory_of_a_dropped_get_is_kept = dropped;
    what_is_known_is_read_again_and_again = again;
    who_does_not_know_the_secret_reads_nothing = secret;
}

async fn secret(transport: &str) {
    let (ours, other) = ("a".repeat(64), "b".repeat(64));
    let psk = transport == "tcp";
    let open = |secrets: &[&String], psk| {
        let node = builder(transport, 1).tls_psk(psk);
        let node = node.connect(std::time::Duration::from_secs(1));
        let with =
            |node: weir::NodeBuilder, it: &&String| node.secret(it.as_bytes());
        secrets.iter().fold(node, with).open()
    };
    let owner = open(&[&ours], psk).unwrap();
    let mut memory = owner.memory(8).unwrap();
    memory.copy_from_slice(b"for some");
    let name = Name::new(SPACE, 1);
    let _region = memory.publish(name).unwrap();
    let read = async |reader: Node| {
        let peer = reader.peer(&owner.address())?;
        let fetch = reader.fetch(0).open()?;
        let lent = fetch.get(&peer, name, 0..8).await?;
        Ok::<_, weir::Error>(lent.to_vec())
    };
    for secrets in [&[&ours][..], &[&other, &ours]] {
        let got = read(open(secrets, psk).unwrap()).await.unwrap();
        assert_eq!(got, b"for some");
    }
    assert!(read(open(&[&other], psk).unwrap()).await.is_err());
    assert!(read(open(&[], false).unwrap()).await.is_err());
    let short = String::from("short");
    let error = open(&[&short], psk).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Arg);
    // A file is the same, and is looked at by libweir.
    let none = builder(transport, 1).secret_file("/nowhere").open();
    assert!(none.err().unwrap().to_string().contains("/nowhere"));
}

/// Over shm such gets end while they are posted, and wake nobody.
async fn again(transport: &str) {
    let t = two(transport);
    let data = bytes(1, 4096);
    let mut memory = t.owner.memory(data.len() as u64).unwrap();
    memory.copy_from_slice(&data);
    let name = Name::new(SPACE, 1);
    let _region = memory.publish(name).unwrap();
    for i in 0..1000 {
        let got = t.fetch.get_into(&t.peer, name, i, vec![0; 8]).await;
        assert_eq!(got.unwrap(), data[i as usize..i as usize + 8]);
        if i % 100 == 0 {
            // Nothing of before wakes the next one.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
}

async fn memory(transport: &str) {
    let t = two(transport);
    let data = bytes(1, 3 << 20);
    let mut memory = t.owner.memory(data.len() as u64).unwrap();
    assert!(memory.iter().all(|b| *b == 0));
    memory.copy_from_slice(&data);
    let name = Name::new(SPACE, 1);
    let region = memory.publish(name).unwrap();
    assert_eq!((region.name(), region.len()), (name, data.len() as u64));
    assert_eq!(t.fetch.len(&t.peer, name).await.unwrap(), region.len());

    for (from, to) in [(0, 8), (13, 13 + 65_537), (1, data.len()), (5, 5)] {
        let range = from as u64..to as u64;
        let lent = t.fetch.get(&t.peer, name, range).await.unwrap();
        assert_eq!(lent.to_vec(), data[from..to]);
        assert_eq!(lent.is_empty(), from == to);
        if let Some(slice) = lent.as_slice() {
            assert_eq!(slice, &data[from..to]);
        }
        // SAFETY: nobody writes to it.
        assert_eq!(unsafe { lent.as_slice_unchecked() }, &data[from..to]);
        assert!(from == to || lent.mapped() == (transport == "shm"));
    }
    let buffer = vec![0; 99_999];
    let read = t.fetch.get_into(&t.peer, name, 7, buffer).await.unwrap();
    assert_eq!(read, data[7..7 + 99_999]);
    let more = t.fetch.get_append(&t.peer, name, 5, 333, read).await.unwrap();
    assert_eq!(more[..99_999], data[7..7 + 99_999]);
    assert_eq!(more[99_999..], data[5..5 + 333]);
    let same = t.fetch.get_append(&t.peer, name, 5, 0, more).await.unwrap();
    assert_eq!(same.len(), 99_999 + 333);
    // It is larger than max_bytes, and so goes alone.
    let rest = t.fetch.get_all(&t.peer, name, 77).await.unwrap();
    assert_eq!(rest.to_vec(), data[77..]);
    assert_eq!(rest.region_bytes(), data.len() as u64);
    drop(rest);

    let end = data.len() as u64;
    let beyond = t.fetch.get(&t.peer, name, end - 1..end + 1).await;
    assert_eq!(beyond.err().unwrap().kind(), ErrorKind::Arg);
}

async fn borrowed(transport: &str) {
    struct Mine(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Mine {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let t = two(transport);
    let data = Arc::new(bytes(2, 200_001));
    let name = Name::new(SPACE, 2);
    let region = t.owner.publish_bytes(name, Mine(data.clone())).unwrap();
    let lent = t.fetch.get(&t.peer, name, 3..200_001).await.unwrap();
    assert_eq!(lent.to_vec(), data[3..]);
    assert_eq!(Arc::strong_count(&data), 2);
    drop(lent);
    drop(region);
    // Let go when the peer has said that it has stopped.
    while Arc::strong_count(&data) > 1 {
        tokio::task::yield_now().await;
    }
    let none = t.owner.publish_bytes(name, Mine(Arc::default()));
    assert_eq!(none.err().unwrap().kind(), ErrorKind::Arg);
}

async fn file(transport: &str) {
    let t = two(transport);
    let data = bytes(3, 100_000);
    let path = std::env::temp_dir()
        .join(format!("weir-rust-{}-{transport}", std::process::id()));
    std::fs::write(&path, &data).unwrap();
    let file = std::fs::File::options().write(true).read(true).open(&path);
    let file = file.unwrap();
    std::fs::remove_file(&path).unwrap();
    let name = Name::new(SPACE, 3);
    let _region = t.owner.publish_file(name, &file, 10..100_000).unwrap();
    let lent = t.fetch.get(&t.peer, name, 5..50_000).await.unwrap();
    assert_eq!(lent.to_vec(), data[15..50_010]);
    let name = Name::new(SPACE, 34);
    // SAFETY: the file becomes shorter after both are dropped.
    let constant =
        unsafe { t.owner.publish_constant_file(name, &file, 10..100_000) };
    let lent = t.fetch.get(&t.peer, name, 5..99_990).await.unwrap();
    assert_eq!(lent.to_vec(), data[15..100_000]);
    drop((lent, constant.unwrap()));
    // SAFETY: it is refused.
    let long =
        unsafe { t.owner.publish_constant_file(name, &file, 10..100_001) };
    assert_eq!(long.err().unwrap().kind(), ErrorKind::Data);
    file.set_len(60_000).unwrap();
    // Parts that were read lately may be as they were, so: another region.
    let name = Name::new(SPACE, 33);
    let _short = t.owner.publish_file(name, &file, 10..100_000).unwrap();
    let short = t.fetch.get(&t.peer, name, 70_000..70_001).await;
    assert_eq!(short.err().unwrap().kind(), ErrorKind::Data);
}

async fn written(transport: &str) {
    let t = two(transport);
    let name = Name::new(SPACE, 4);
    let shared = t.owner.share(name, 1000).unwrap();
    shared.write(0, b"before").unwrap();
    let data = bytes(4, 500);
    t.fetch.put(&t.peer, name, 250, data.clone()).await.unwrap();
    let mut all = vec![1; 1000];
    shared.read(0, &mut all).unwrap();
    assert_eq!(all[..6], *b"before");
    assert_eq!(all[250..750], data);
    assert!(all[750..].iter().all(|b| *b == 0));
    assert_eq!(
        shared.read(999, &mut [0; 2]).unwrap_err().kind(),
        ErrorKind::Arg
    );
    assert_eq!(
        shared.write(u64::MAX, &[0]).unwrap_err().kind(),
        ErrorKind::Arg
    );

    let closed = Name::new(SPACE, 5);
    let region = t.owner.memory(10).unwrap().publish(closed).unwrap();
    assert!(t.fetch.put(&t.peer, closed, 0, b"x").await.is_err());
    let lent = t.fetch.get(&t.peer, region.name(), 0..10).await.unwrap();
    assert_eq!(lent.to_vec(), [0; 10]);
}

async fn revoked(transport: &str) {
    let t = two(transport);
    let name = Name::new(SPACE, 6);
    let region = t.owner.memory(4096).unwrap().publish(name).unwrap();
    let again = t.owner.memory(1).unwrap().publish(name);
    assert_eq!(again.err().unwrap().kind(), ErrorKind::Duplicate);
    let lent = t.fetch.get(&t.peer, name, 0..4096).await.unwrap();
    drop(region);
    // Gets that come before the peer has heard of it may still have bytes.
    let error = loop {
        if let Err(error) = t.fetch.get(&t.peer, name, 0..8).await {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(lent.to_vec(), [0; 4096]); // what is held stays
}

async fn made(transport: &str) {
    let t = two(transport);
    let asks = t.owner.asks(SPACE, 0).unwrap();
    let name = Name::new(SPACE, 77);
    let answer = async {
        let ask = asks.next().await.unwrap();
        assert!(ask.wants_region());
        let mut memory = t.owner.memory(8).unwrap();
        memory.copy_from_slice(&ask.name().id.to_le_bytes());
        let region = memory.publish(ask.name()).unwrap();
        ask.answer(&[]).unwrap();
        region
    };
    let get = t.fetch.get(&t.peer, name, 0..8);
    let (region, lent) = tokio::join!(answer, get);
    assert_eq!(lent.unwrap().to_vec(), 77u64.to_le_bytes());
    assert_eq!(region.name(), name);
}

fn echo(ask: Ask) {
    let bytes = ask.bytes().to_vec();
    match ask.name().id {
        0 => ask.answer(&bytes).unwrap(),
        1 => ask.refuse(ErrorKind::State, "not \u{e4}t this hour"),
        2 => drop(ask),
        _ => assert!(ask.answer(&[0; ASK_BYTES + 1]).is_err()),
    }
}

async fn asked(transport: &str) {
    let t = two(transport);
    let asks = t.owner.asks(SPACE, 0).unwrap();
    let answering = tokio::spawn(async move {
        for _ in 0..5 {
            let ask = asks.next().await.unwrap();
            assert!(ask.waits() && !ask.wants_region());
            assert!(!ask.peer().is_empty());
            echo(ask);
        }
    });
    let ask = |id, bytes: Vec<u8>| {
        let t = &t;
        async move { t.fetch.ask(&t.peer, Name::new(SPACE, id), &bytes).await }
    };
    assert_eq!(ask(0, b"hello".into()).await.unwrap(), b"hello");
    assert_eq!(ask(0, vec![3; ASK_BYTES]).await.unwrap(), [3; ASK_BYTES]);
    let error = ask(1, vec![]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.message().contains("not \u{e4}t this hour"), "{error}");
    let error = ask(2, vec![]).await.unwrap_err();
    assert!(error.message().contains("dropped the ask"), "{error}");
    assert!(ask(3, vec![]).await.is_err());
    let error = ask(0, vec![0; ASK_BYTES + 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Arg);
    answering.await.unwrap();
    let error = ask(0, vec![]).await.unwrap_err(); // nobody answers any more
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn lost(transport: &str) {
    let t = two(transport);
    let asks = t.owner.asks(SPACE, 0).unwrap();
    let never = t.fetch.ask(&t.peer, Name::new(SPACE, 0), b"?");
    let go = async {
        let ask = asks.next().await.unwrap();
        drop(t.owner);
        drop(ask);
        drop(asks);
    };
    let (answer, ()) = tokio::join!(never, go);
    // The answer of the ask that was dropped may come before the end.
    let kind = answer.unwrap_err().kind();
    assert!([ErrorKind::NotFound, ErrorKind::PeerLost].contains(&kind));
}

async fn crowd(transport: &str) {
    let t = two(transport);
    let data = bytes(8, 1 << 20);
    let mut memory = t.owner.memory(data.len() as u64).unwrap();
    memory.copy_from_slice(&data);
    let name = Name::new(SPACE, 8);
    let _region = memory.publish(name).unwrap();
    let data = Arc::new(data);
    let gets = (0..200u64).map(|i| {
        let (fetch, peer, data) =
            (t.fetch.clone(), t.peer.clone(), data.clone());
        tokio::spawn(async move {
            let from = i * 4_001;
            let range = from..from + 64 * 1024;
            let lent = fetch.get(&peer, name, range.clone()).await.unwrap();
            tokio::task::yield_now().await;
            let wanted = &data[range.start as usize..range.end as usize];
            assert_eq!(lent.to_vec(), wanted);
        })
    });
    for get in join_all(gets).await {
        get.unwrap();
    }
}

async fn dropped(transport: &str) {
    let t = two(transport);
    let asks = t.owner.asks(SPACE, 0).unwrap();
    let name = |id| Name::new(SPACE, id);
    {
        let get = t.fetch.get_into(&t.peer, name(9), 0, vec![0; 100]);
        begun(&mut Box::pin(get)).await;
    }
    {
        let get = t.fetch.get(&t.peer, name(10), 0..100);
        begun(&mut Box::pin(get)).await;
    }
    let mut regions = Vec::new();
    for _ in 0..2 {
        let ask = asks.next().await.unwrap();
        let mut memory = t.owner.memory(100).unwrap();
        memory.fill(5);
        regions.push(memory.publish(ask.name()).unwrap());
        ask.answer(&[]).unwrap();
    }
    // Both end within this one's poll, or before.
    let lent = t.fetch.get(&t.peer, name(9), 0..100).await.unwrap();
    assert_eq!(lent.to_vec(), [5; 100]);
}
