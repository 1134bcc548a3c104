// SPDX-License-Identifier: Apache-2.0
//! A line on the terminal while a query runs.

use std::cell::Cell;
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::args::Client;

/// The first line, and each next one, after this.
const EVERY: Duration = Duration::from_millis(250);

/// Dropped, it leaves the line empty.
pub struct Progress {
    begun: Instant,
    on: Cell<bool>,
    shown: Cell<bool>,
    n_rows: Cell<usize>,
}

impl Progress {
    pub fn new(client: &Client) -> Self {
        let on = !client.quiet && std::io::stderr().is_terminal();
        Self {
            begun: Instant::now(),
            on: Cell::new(on),
            shown: Cell::new(false),
            n_rows: Cell::new(0),
        }
    }

    pub fn rows(&self, n: usize) {
        self.n_rows.set(n);
    }

    /// Rows are printed: no line among them.
    pub fn hide(&self) {
        if std::io::stdout().is_terminal() {
            self.clear();
            self.on.set(false);
        }
    }

    /// Tell how it goes while something runs.
    pub async fn during<T>(&self, run: impl Future<Output = T>) -> T {
        if !self.on.get() {
            return run.await;
        }
        let mut run = std::pin::pin!(run);
        loop {
            let timeout = tokio::time::timeout(EVERY, run.as_mut()).await;
            match timeout {
                Ok(value) => return value,
                Err(_) => self.show(),
            }
        }
    }

    fn show(&self) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let n = self.n_rows.get();
        eprint!("\r\x1b[K{seconds:.1} s, {n} rows; Ctrl-C gives up");
        let _ = std::io::stderr().flush();
        self.shown.set(true);
    }

    fn clear(&self) {
        if self.shown.take() {
            eprint!("\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
