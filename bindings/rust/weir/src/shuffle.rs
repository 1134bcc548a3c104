// SPDX-License-Identifier: Apache-2.0
//! A shuffle: one exchange of rows between the workers of a query's members.

use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::batch::{export, same_types, Checks};
use crate::error::{c_text, call, Error, ErrorKind, Result};
use crate::hub::Hub;
use crate::query::{Query, QueryInner};
use crate::reader::Reader;
use crate::writer::Writer;
use weir_sys as sys;

/// Where a row goes. The default is `RoundRobin`.
#[derive(Debug, Clone, Default)]
pub enum Partitioning {
    /// By hash of these columns.
    Hash(Vec<String>),
    /// By the first bound that is greater than the row's key. The bounds are
    /// columns of the keys' names and types, ascending, fewer than
    /// destinations: row `i` is the first key of destination `i + 1`.
    Range(Vec<String>, RecordBatch),
    /// Runs of rows to each destination in turn.
    #[default]
    RoundRobin,
    /// Each row anywhere.
    Random,
    /// Every row to every destination.
    Broadcast,
    /// Every row to the first worker of the first consumer.
    Gather,
    /// Where the program says: [`Writer::push_to`].
    Vector,
}

impl Partitioning {
    fn code(&self) -> sys::weir_partitioning {
        match self {
            Self::Hash(_) => sys::WEIR_HASH,
            Self::Range(..) => sys::WEIR_RANGE,
            Self::RoundRobin => sys::WEIR_ROUND_ROBIN,
            Self::Random => sys::WEIR_RANDOM,
            Self::Broadcast => sys::WEIR_BROADCAST,
            Self::Gather => sys::WEIR_GATHER,
            Self::Vector => sys::WEIR_VECTOR,
        }
    }

    fn keys(&self) -> &[String] {
        match self {
            Self::Hash(keys) | Self::Range(keys, _) => keys,
            _ => &[],
        }
    }
}

/// What a shuffle's writers and readers share.
pub(crate) struct ShuffleInner {
    raw: NonNull<sys::weir_shuffle>,
    pub(crate) query: Arc<QueryInner>,
    pub(crate) schema: SchemaRef,
    pub(crate) checks: Checks,
    pub(crate) key_types: Vec<DataType>,
    pub(crate) id: u32,
}

// SAFETY: opening writers and readers, and destinations: any thread.
unsafe impl Send for ShuffleInner {}
// SAFETY: as above.
unsafe impl Sync for ShuffleInner {}

impl ShuffleInner {
    pub(crate) fn ptr(&self) -> *mut sys::weir_shuffle {
        self.raw.as_ptr()
    }

    /// The hub of a worker that has a writer or a reader, and so exists.
    pub(crate) fn hub(&self, worker: u32) -> &Hub {
        match self.query.node.hub(worker) {
            Ok(hub) => hub,
            Err(_) => unreachable!("looked up when it was opened"),
        }
    }
}

/// Options of a shuffle, the same on every member.
#[must_use]
pub struct ShuffleBuilder<'a> {
    query: &'a Query,
    id: u32,
    schema: SchemaRef,
    by: Partitioning,
    seed: u64,
    producers: Vec<u32>,
    consumers: Vec<u32>,
    producer_workers: u32,
    consumer_workers: u32,
    to: sys::weir_shuffle_to,
    trusted: bool,
}

fn list(list: &[u32]) -> *const u32 {
    if list.is_empty() {
        std::ptr::null()
    } else {
        list.as_ptr()
    }
}

impl<'a> ShuffleBuilder<'a> {
    pub(crate) fn new(query: &'a Query, id: u32, schema: SchemaRef) -> Self {
        Self {
            query,
            id,
            schema,
            by: Partitioning::default(),
            seed: 0,
            producers: Vec::new(),
            consumers: Vec::new(),
            producer_workers: 0,
            consumer_workers: 0,
            to: sys::WEIR_TO_WORKER,
            trusted: false,
        }
    }

    /// Where rows go \[`RoundRobin`\].
    pub fn by(mut self, partitioning: Partitioning) -> Self {
        self.by = partitioning;
        self
    }

    /// By hash of these columns.
    pub fn hash(self, keys: &[&str]) -> Self {
        self.by(Partitioning::Hash(
            keys.iter().map(|k| (*k).to_owned()).collect(),
        ))
    }

    /// Of the hash or the generator \[0\]; chained shuffles by the same key
    /// need different ones.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Numbers of the members that produce \[all of the query\].
    pub fn producers(mut self, members: &[u32]) -> Self {
        self.producers = members.to_vec();
        self
    }

    /// Numbers of the members that consume \[all of the query\].
    pub fn consumers(mut self, members: &[u32]) -> Self {
        self.consumers = members.to_vec();
        self
    }

    /// Workers 0..n-1 of each producer \[all\].
    pub fn producer_workers(mut self, n: u32) -> Self {
        self.producer_workers = n;
        self
    }

    /// Workers 0..n-1 of each consumer \[all\].
    pub fn consumer_workers(mut self, n: u32) -> Self {
        self.consumer_workers = n;
        self
    }

    /// A destination is a consuming member, not one of its workers: each batch
    /// goes to whichever of its workers asks next. For consumers that share
    /// what they make of the rows, or do not care who gets what.
    pub fn to_nodes(mut self) -> Self {
        self.to = sys::WEIR_TO_NODE;
        self
    }

    /// Hand out texts without a look at them: leaves out the check that they
    /// are UTF-8, which costs a pass over the texts that were received.
    ///
    /// # Safety
    /// Every producer of this shuffle pushes texts that are UTF-8. Programs in
    /// Rust do; those in C may push any bytes.
    pub unsafe fn trust_texts(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// Open the shuffle on this member. Every producing worker of it must then
    /// open and finish a writer, every consuming one open a reader, and drain,
    /// stop or drop it.
    ///
    /// # Errors
    /// `Arg`, `Schema`, `NotFound` (key column; lists the columns), `Duplicate`
    /// (shuffle id), `Budget` (more than `max_shuffles`, if that was set
    /// or rings are thread-to-node), `NoMemory`, and what failed the query.
    pub fn open(self) -> Result<Shuffle> {
        let schema = c_schema(&self.schema)?;
        let names = self
            .by
            .keys()
            .iter()
            .map(|key| c_text("key column", key))
            .collect::<Result<Vec<CString>>>()?;
        let keys = names.iter().map(|k| k.as_ptr()).collect::<Vec<_>>();
        let key_types = self.key_types();
        let bounds = match &self.by {
            Partitioning::Range(_, bounds) => {
                same_types("bounds", bounds.columns(), &key_types)?;
                Some(export(bounds))
            }
            _ => None,
        };
        let params = sys::weir_shuffle_params {
            id: self.id,
            schema: &schema as *const FFI_ArrowSchema as *const _,
            partitioning: self.by.code(),
            keys: if keys.is_empty() {
                std::ptr::null()
            } else {
                keys.as_ptr()
            },
            n_keys: keys.len() as u32,
            seed: self.seed,
            bounds: bounds
                .as_ref()
                .map_or(std::ptr::null(), |b| b as *const _ as *const _),
            producers: list(&self.producers),
            n_producers: self.producers.len() as u32,
            consumers: list(&self.consumers),
            n_consumers: self.consumers.len() as u32,
            producer_workers: self.producer_workers,
            consumer_workers: self.consumer_workers,
            name: std::ptr::null(),
            to: self.to,
            reserved_to: 0,
            reserved: [0; 2],
        };
        let query = self.query.0.clone();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the query is open; what params points to lives during the
        // call; bounds have the types that the schema says.
        call(|err| unsafe {
            sys::weir_shuffle_open(query.ptr(), &params, &mut raw, err)
        })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE));
        let checks = Checks::new(&self.schema, self.trusted);
        Ok(Shuffle(Arc::new(ShuffleInner {
            raw: raw?,
            query,
            schema: self.schema,
            checks,
            key_types,
            id: self.id,
        })))
    }

    /// Types of the key columns; those that are not there the library names.
    fn key_types(&self) -> Vec<DataType> {
        let field = |key: &String| self.schema.field_with_name(key).ok();
        self.by
            .keys()
            .iter()
            .filter_map(field)
            .map(|f| f.data_type().clone())
            .collect()
    }
}

pub(crate) fn c_schema(schema: &SchemaRef) -> Result<FFI_ArrowSchema> {
    FFI_ArrowSchema::try_from(schema.as_ref())
        .map_err(|error| Error::new(ErrorKind::Schema, error.to_string()))
}

/// One exchange of rows, on this member. Clones are the same shuffle.
#[derive(Clone)]
pub struct Shuffle(pub(crate) Arc<ShuffleInner>);

impl Shuffle {
    /// The columns that travel.
    pub fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    /// Number of destinations: consuming workers, in the order of the
    /// consumers and within each of its workers.
    pub fn destinations(&self) -> u32 {
        // SAFETY: the shuffle lives as long as its query, which is open.
        unsafe { sys::weir_shuffle_destinations(self.0.ptr()) }
    }

    /// Open the writer of a producing worker; begins to open links.
    ///
    /// # Errors
    /// `Arg` (not a producer), `Duplicate` (open already), `State` (was open
    /// before), `NoMemory`, and what failed the query.
    pub fn writer(&self, worker: u32) -> Result<Writer> {
        Writer::open(self, worker)
    }

    /// Open the reader of a consuming worker.
    ///
    /// # Errors
    /// `Arg` (not a consumer), `Duplicate` (open already), `State` (was open
    /// before), `NoMemory`, and what failed the query.
    pub fn reader(&self, worker: u32) -> Result<Reader> {
        Reader::open(self, worker)
    }
}
