// SPDX-License-Identifier: Apache-2.0
//! SIGINT and SIGTERM: what runs is given up, and cleaned away.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::fail::{Fail, Result, Status};

pub struct Signals(watch::Receiver<Option<Status>>);

impl Signals {
    /// From now on they no longer end the process.
    pub fn take() -> Result<Self> {
        let (tell, told) = watch::channel(None);
        let on = |kind| signal(kind).map_err(Fail::failed);
        let mut interrupt = on(SignalKind::interrupt())?;
        let mut terminate = on(SignalKind::terminate())?;
        tokio::spawn(async move {
            loop {
                let status = tokio::select! {
                    _ = interrupt.recv() => Status::Interrupted,
                    _ = terminate.recv() => Status::Terminated,
                };
                if tell.send(Some(status)).is_err() {
                    return;
                }
            }
        });
        Ok(Self(told))
    }

    /// Those that came so far are nobody's.
    pub fn forget(&mut self) {
        self.0.mark_unchanged();
    }

    /// Until one comes, or has come since they were forgotten.
    pub async fn next(&self) -> Fail {
        let mut told = self.0.clone();
        if told.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        match *told.borrow() {
            Some(Status::Terminated) => {
                Fail::new(Status::Terminated, "ended by SIGTERM")
            }
            _ => Fail::new(Status::Interrupted, "interrupted"),
        }
    }
}
