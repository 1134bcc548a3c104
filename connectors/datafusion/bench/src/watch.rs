// SPDX-License-Identifier: Apache-2.0
//! How much memory processes have at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use datafusion::common::{Result, exec_datafusion_err};

const EVERY: Duration = Duration::from_millis(10);

/// A thread that looks at them again and again.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<u64>>,
}

impl Watch {
    pub fn start(ids: Vec<u32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let thread = spawn(move || {
            let mut most = 0;
            while !until.load(Ordering::Relaxed) {
                let sum = ids.iter().copied().map(bytes_of);
                most = most.max(sum.sum::<std::io::Result<u64>>()?);
                sleep(EVERY);
            }
            Ok(most)
        });
        Self { over, thread }
    }

    /// The most that was seen, in bytes.
    pub fn stop(self) -> Result<u64> {
        self.over.store(true, Ordering::Relaxed);
        let most = self.thread.join();
        Ok(most.map_err(|_| exec_datafusion_err!("the watch has failed"))??)
    }
}

/// What a process has. Of pages that several have, each has its share, so that
/// a sum counts them once.
fn bytes_of(id: u32) -> std::io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.and_then(|kib| kib.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or(std::io::ErrorKind::InvalidData.into())
}
