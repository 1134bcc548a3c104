// SPDX-License-Identifier: Apache-2.0
//! The consumer's side of a call: a task asks for what comes, fetches the
//! slots, and hands the pieces to the partitions' streams, which decode them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow::buffer::Buffer;
use datafusion::common::{DataFusionError, exec_datafusion_err};
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, Time,
};
use datafusion_distributed::TaskKey;
use futures::future::{join_all, poll_fn};
use prost::Message;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use weir::{Fetch, Name, Node, Peer};

use crate::fault::Fault;
use crate::given::{Given, Taken};
use crate::resolver::Channels;
use crate::stream::{Piece, Stream};
use crate::wire::{
    ASKS, Answer, Delivery, Empty, Kind, PART_BYTES, Part, Request, SPACE,
    Task, What,
};

type Result<T> = std::result::Result<T, DataFusionError>;

/// Numbers of calls. A node that has lost and found a producer's node, or that
/// was too early for it, is the same consumer there, with calls that still run.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// A producer's node, as long as it lives.
pub(crate) struct Producer {
    url: String,
    peer: Peer,
    parked: Fetch, // for what waits: HOLD and NEXT
    quick: Fetch,  // for the rest
    gone: Arc<AtomicBool>,
    control: Arc<Channels>,
    over: String, // the transport
    maps: bool,   // it shows its memory
    _hold: AbortOnDropHandle<()>,
}

/// What a call is measured by: the metrics that `EXPLAIN ANALYZE` shows.
struct Figures {
    bytes: Count,  // that were fetched, as they travel
    blocked: Time, // the producer's streams, for credit
}

impl Figures {
    fn new(metrics: &ExecutionPlanMetricsSet, over: &str) -> Self {
        let new = || MetricBuilder::new(metrics);
        Self {
            bytes: new().global_counter(format!("bytes_over_{over}")),
            blocked: new().subset_time("write_wait", 0),
        }
    }
}

impl Producer {
    pub(crate) async fn open(
        node: &Node,
        url: &str,
        address: &str,
        control: Arc<Channels>,
    ) -> Result<Arc<Self>> {
        let peer = node.peer(address).map_err(|e| lost(url, &e))?;
        let fetch = || {
            let ages = node.fetch(0).timeout(Duration::MAX);
            ages.max_bytes(u64::MAX / 2).open().map_err(|e| lost(url, &e))
        };
        let (parked, quick) = (fetch()?, fetch()?);
        let gone = Arc::new(AtomicBool::new(false));
        let hold = hold(&parked, &peer, &gone).await;
        let over = over(node, address);
        Ok(Arc::new(Self {
            url: url.to_owned(),
            peer,
            parked,
            quick,
            gone,
            control,
            maps: over == "shm",
            over,
            _hold: hold,
        }))
    }

    /// Its control channels. They end with it: one that has seen a worker die
    /// may fail the first message to its successor, a plan, and who executes
    /// that plan would wait for it in vain.
    pub(crate) fn control(&self) -> &Channels {
        self.control.as_ref()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Is it, or its node, no more?
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    async fn ask(&self, fetch: &Fetch, bytes: &[u8]) -> Result<Vec<u8>> {
        let name = Name::new(SPACE, ASKS);
        let answer = fetch.ask(&self.peer, name, bytes).await;
        answer.map_err(|error| lost(&self.url, &error))
    }

    /// The query of a task is over. If the producer is gone, all is anyway.
    pub(crate) async fn say_over(&self, task: &TaskKey) {
        let _ = self.say(0, Kind::Over(Task::of(task))).await;
    }

    async fn say(&self, call: u64, kind: Kind) -> Result<()> {
        self.ask(&self.quick, &Request::bytes(call, kind)).await.map(drop)
    }
}

/// The name of the transport to an address.
fn over(node: &Node, address: &str) -> String {
    let why = node.why(Some(address)).unwrap_or_default();
    let name = why.split(':').next().unwrap_or_default();
    name.trim().to_owned()
}

fn lost(url: &str, error: &weir::Error) -> DataFusionError {
    exec_datafusion_err!("worker {url}: {error}")
}

/// Say HOLD, which is never answered. It is on its way before anything else.
async fn hold(
    fetch: &Fetch,
    peer: &Peer,
    gone: &Arc<AtomicBool>,
) -> AbortOnDropHandle<()> {
    let (fetch, peer, gone) = (fetch.clone(), peer.clone(), gone.clone());
    let begun = Arc::new(Notify::new());
    let told = begun.clone();
    let task = tokio::spawn(async move {
        let name = Name::new(SPACE, ASKS);
        let bytes = Request::bytes(0, Kind::Hold(Empty {}));
        let mut ask = Box::pin(fetch.ask(&peer, name, &bytes));
        let _ = poll_fn(|cx| {
            let poll = ask.as_mut().poll(cx);
            told.notify_one();
            poll
        })
        .await;
        gone.store(true, Ordering::Relaxed);
    });
    begun.notified().await;
    AbortOnDropHandle::new(task)
}

/// Execute a task at a producer: a stream for each partition. Nothing is sent
/// before one of them is polled, or all are dropped. When its reader's query is
/// over, streams that are left have an error.
pub(crate) fn execute(
    producer: Arc<Producer>,
    task: &Task,
    metrics: &ExecutionPlanMetricsSet,
    over: CancellationToken,
) -> Vec<Stream> {
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let n = (task.end - task.start) as u32;
    let given = Given::new(n);
    let (to, from): (Vec<_>, Vec<_>) =
        (0..n).map(|_| mpsc::unbounded_channel()).unzip();
    let figures = Figures::new(metrics, &producer.over);
    let run = {
        let given = given.clone();
        Run { producer, call, to, given, figures, over }
    };
    tokio::spawn(run.run(task.encode_to_vec()));
    let stream = |(i, from)| {
        let partition = task.start as usize + i;
        let wait = MetricBuilder::new(metrics);
        let wait = wait.subset_time("read_wait", partition);
        Stream::new(i as u32, from, &given, wait)
    };
    from.into_iter().enumerate().map(stream).collect()
}

/// A call.
struct Run {
    producer: Arc<Producer>,
    call: u64,
    to: Vec<mpsc::UnboundedSender<Result<Piece>>>,
    given: Arc<Given>,
    figures: Figures,
    over: CancellationToken,
}

impl Run {
    async fn run(self, task: Vec<u8>) {
        let over = || exec_datafusion_err!("the query is over");
        tokio::select! {
            () = self.given.wanted() => {}
            () = self.over.cancelled() => return self.fail(over()),
        }
        if let Err(error) = self.execute(&task).await {
            return self.fail(error);
        }
        let outcome = tokio::select! {
            outcome = self.read() => outcome,
            outcome = self.give() => outcome,
            () = self.given.nobody() => Ok(()),
            () = self.over.cancelled() => Err(over()),
        };
        if let Err(error) = outcome {
            self.fail(error);
        }
        // What cannot be said to a producer that is gone needs no END.
        let _ = self.producer.say(self.call, Kind::End(Empty {})).await;
    }

    /// All partitions end with this.
    fn fail(&self, error: DataFusionError) {
        let error = Arc::new(error);
        for to in &self.to {
            let _ = to.send(Err(DataFusionError::Shared(error.clone())));
        }
    }

    async fn execute(&self, task: &[u8]) -> Result<()> {
        let n = task.len().div_ceil(PART_BYTES);
        for (i, part) in task.chunks(PART_BYTES).enumerate() {
            let part = Part { bytes: part.to_vec(), last: i + 1 == n };
            self.producer.say(self.call, Kind::Execute(part)).await?;
        }
        Ok(())
    }

    /// Take deliveries until each partition has ended.
    async fn read(&self) -> Result<()> {
        let mut partitions = vec![Some(Vec::new()); self.to.len()];
        while partitions.iter().any(Option::is_some) {
            let give = self.given.take_some();
            let next = Request::bytes(self.call, Kind::Next(give));
            let bytes = self.producer.ask(&self.producer.parked, &next).await?;
            let answer = Answer::decode(bytes.as_slice())
                .map_err(|_| self.nonsense("an answer"))?;
            let mut by = BTreeMap::<_, Vec<_>>::new();
            for delivery in answer.deliveries {
                by.entry(delivery.partition).or_default().push(delivery);
            }
            let all = by.into_iter().map(|(i, deliveries)| {
                let buffer = partitions.get_mut(i as usize);
                let buffer = buffer.and_then(Option::take);
                self.take_all(i, buffer, deliveries)
            });
            let all = all.collect::<Vec<_>>();
            for outcome in join_all(all).await {
                let (i, buffer) = outcome?;
                partitions[i as usize] = buffer;
            }
        }
        Ok(())
    }

    /// Deliveries of a partition, in their order, behind what came of a batch
    /// before. Returns that of the next one; None: the partition has ended.
    async fn take_all(
        &self,
        partition: u32,
        buffer: Option<Vec<u8>>,
        deliveries: Vec<Delivery>,
    ) -> Result<(u32, Option<Vec<u8>>)> {
        let mut buffer = buffer.ok_or_else(|| self.nonsense("a partition"))?;
        for delivery in &deliveries {
            if matches!(delivery.what(), What::End | What::Fault) {
                buffer.clear(); // a batch that will not be whole
            }
            buffer = self.fetch(delivery, buffer).await?;
            if delivery.what() == What::Piece {
                continue;
            }
            let bytes = Buffer::from_vec(std::mem::take(&mut buffer));
            if self.take(delivery, bytes)? {
                return Ok((partition, None));
            }
        }
        Ok((partition, Some(buffer)))
    }

    /// Add the bytes of a delivery to others; then its place is free.
    async fn fetch(
        &self,
        delivery: &Delivery,
        mut buffer: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let whole = delivery.whole.max(delivery.n_bytes) as usize;
        buffer
            .try_reserve_exact(whole)
            .map_err(|_| self.nonsense("a length"))?;
        if delivery.slot == 0 {
            buffer.extend_from_slice(&delivery.bytes);
            return Ok(buffer);
        }
        let buffer = self.copy(delivery, buffer).await;
        let buffer =
            buffer.map_err(|error| lost(&self.producer.url, &error))?;
        self.given.free(delivery.id, delivery.n_bytes as usize);
        Ok(buffer)
    }

    async fn copy(
        &self,
        delivery: &Delivery,
        mut to: Vec<u8>,
    ) -> weir::Result<Vec<u8>> {
        let Producer { quick, peer, .. } = &*self.producer;
        let name = Name::new(SPACE, delivery.slot);
        let (off, n) = (delivery.off, delivery.n_bytes);
        if !self.producer.maps {
            return quick.get_append(peer, name, off, n as usize, to).await;
        }
        // Not by the library, which copies in its worker's turn.
        let range = off..off.saturating_add(n);
        let lent = quick.get(peer, name, range).await?;
        lent.append_to(&mut to);
        Ok(to)
    }

    /// True: the partition has ended.
    fn take(&self, delivery: &Delivery, bytes: Buffer) -> Result<bool> {
        let (piece, over) = match delivery.what() {
            What::Batch => {
                self.figures.bytes.add(bytes.len());
                let taken = Taken::new(&self.given, delivery.id, bytes.len());
                (Ok(Piece::Batch(bytes, taken)), false)
            }
            What::End => {
                let blocked = Duration::from_nanos(delivery.blocked_ns);
                self.figures.blocked.add_duration(blocked);
                (Ok(Piece::End), true)
            }
            What::Fault => (Err(self.fault(&bytes)), true),
            What::Piece => unreachable!("it is kept until its batch is whole"),
        };
        let to = &self.to[delivery.partition as usize];
        if to.send(piece).is_err() && !over {
            self.given.stop(delivery.partition);
        }
        Ok(over)
    }

    fn fault(&self, bytes: &[u8]) -> DataFusionError {
        match Fault::decode(bytes) {
            Ok(fault) => {
                fault.error().context(format!("worker {}", self.producer.url))
            }
            Err(_) => self.nonsense("an error"),
        }
    }

    fn nonsense(&self, what: &str) -> DataFusionError {
        let url = &self.producer.url;
        exec_datafusion_err!("worker {url} has sent {what} that cannot be")
    }

    /// Give back what NEXT does not.
    async fn give(&self) -> Result<()> {
        loop {
            let give = self.given.much().await;
            self.producer.say(self.call, Kind::Give(give)).await?;
        }
    }
}
