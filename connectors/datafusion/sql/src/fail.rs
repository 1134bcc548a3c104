// SPDX-License-Identifier: Apache-2.0
//! What ends the command other than well: a status and a line.

use std::fmt::{self, Display};

use datafusion::common::DataFusionError;

use crate::begin;

pub type Result<T, E = Fail> = std::result::Result<T, E>;

/// Exit statuses; `docs/command.md` has the convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It failed while it ran: memory, a disk, a value.
    Failed = 1,
    /// Wrong use of the command.
    Usage = 2,
    /// No such file or table, a mistake in the SQL: nothing has run.
    Input = 3,
    /// A worker is lost.
    Lost = 4,
    /// Ended by SIGINT, SIGTERM.
    Interrupted = 130,
    Terminated = 143,
    /// Whoever reads the rows has closed the pipe: nothing is said.
    Closed = 141,
}

#[derive(Clone, Debug)]
pub struct Fail {
    pub status: Status,
    pub text: String,
}

impl Fail {
    pub fn new(status: Status, text: impl Display) -> Self {
        Self { status, text: one_line(&text.to_string()) }
    }

    pub fn failed(text: impl Display) -> Self {
        Self::new(Status::Failed, text)
    }

    pub fn usage(text: impl Display) -> Self {
        Self::new(Status::Usage, text)
    }

    pub fn input(text: impl Display) -> Self {
        Self::new(Status::Input, text)
    }

    /// A statement was refused before anything ran.
    pub fn refused(error: &DataFusionError) -> Self {
        Self::input(plain(error))
    }

    /// A statement failed while it ran.
    pub fn ran(error: &DataFusionError) -> Self {
        Self::failed(plain(error))
    }

    /// Rows could not be written to standard output.
    pub fn stdout(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Status::Closed, "");
        }
        Self::failed(format!("standard output: {error}"))
    }

    /// To standard error, with the command's name in front.
    pub fn say(&self) {
        if !self.text.is_empty() {
            begin::complain(&format!("weir-sql: {}", self.text));
        }
    }
}

impl Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn plain(error: &DataFusionError) -> String {
    error.strip_backtrace()
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}
