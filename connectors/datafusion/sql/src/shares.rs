// SPDX-License-Identifier: Apache-2.0
//! The memory of clients at a worker: what each has SET, and together not more
//! than the worker has.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

/// Runtimes by their limit: tasks of a query, and queries of a client, share
/// one as long as one of them runs.
pub struct Shares {
    all: Arc<RuntimeEnv>,
    by_bytes: Mutex<HashMap<usize, Weak<RuntimeEnv>>>,
}

impl Shares {
    pub fn new(all: Arc<RuntimeEnv>) -> Self {
        Self { all, by_bytes: Mutex::default() }
    }

    /// The worker's runtime, of which so much memory may be taken.
    pub fn of(&self, bytes: usize) -> Result<Arc<RuntimeEnv>> {
        if let MemoryLimit::Finite(most) = self.all.memory_pool.memory_limit()
            && most <= bytes
        {
            return Ok(self.all.clone());
        }
        let mut known = self
            .by_bytes
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        known.retain(|_, share| share.strong_count() > 0);
        if let Some(share) = known.get(&bytes).and_then(Weak::upgrade) {
            return Ok(share);
        }
        let pool = Share {
            own: FairSpillPool::new(bytes),
            all: self.all.memory_pool.clone(),
        };
        let share = RuntimeEnvBuilder::from_runtime_env(&self.all)
            .with_memory_pool(Arc::new(pool))
            .build_arc()?;
        known.insert(bytes, Arc::downgrade(&share));
        Ok(share)
    }
}

/// What is taken from it is taken from all, too.
#[derive(Debug)]
struct Share {
    own: FairSpillPool,
    all: Arc<dyn MemoryPool>,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} of {}", self.own, self.all)
    }
}

impl MemoryPool for Share {
    fn name(&self) -> &str {
        "share"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.own.unregister(consumer);
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, bytes: usize) {
        self.own.grow(reservation, bytes);
        self.all.grow(reservation, bytes);
    }

    fn shrink(&self, reservation: &MemoryReservation, bytes: usize) {
        self.own.shrink(reservation, bytes);
        self.all.shrink(reservation, bytes);
    }

    fn try_grow(
        &self,
        reservation: &MemoryReservation,
        bytes: usize,
    ) -> Result<()> {
        self.own.try_grow(reservation, bytes)?;
        let outcome = self.all.try_grow(reservation, bytes);
        if outcome.is_err() {
            self.own.shrink(reservation, bytes);
        }
        outcome
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.own.memory_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_limit_and_all_have_theirs() {
        let pool = Arc::new(FairSpillPool::new(1000));
        let all = RuntimeEnvBuilder::new().with_memory_pool(pool.clone());
        let shares = Shares::new(all.build_arc().unwrap());
        let (one, two) = (shares.of(700).unwrap(), shares.of(600).unwrap());
        assert!(Arc::ptr_eq(&one, &shares.of(700).unwrap()));
        let take = |share: &Arc<RuntimeEnv>| {
            MemoryConsumer::new("test").register(&share.memory_pool)
        };
        let (a, b) = (take(&one), take(&two));
        assert!(a.try_grow(701).is_err());
        a.try_grow(700).unwrap();
        assert!(b.try_grow(400).is_err());
        b.try_grow(300).unwrap();
        assert_eq!((one.memory_pool.reserved(), pool.reserved()), (700, 1000));
        drop((a, b));
        assert_eq!((two.memory_pool.reserved(), pool.reserved()), (0, 0));
        let most = shares.of(5000).unwrap().memory_pool.memory_limit();
        assert!(matches!(most, MemoryLimit::Finite(1000)));
    }
}
