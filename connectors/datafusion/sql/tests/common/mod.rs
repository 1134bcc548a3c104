// SPDX-License-Identifier: Apache-2.0
//! The command as a stranger runs it: real processes, files, pipes.
#![allow(dead_code)] // no test uses all of it

use std::future::Future;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// So long that only a hang takes it.
const LONG: Duration = Duration::from_secs(120);

/// Of a table t of series(1500): it gives rows soon, and has not ended when
/// somebody asks for its end.
pub const ENDLESS: &str = "SELECT a.k FROM t a, t b, t c WHERE a.v + b.v < 99";

/// Fail a test that hangs, instead of hanging.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("hangs"),
    }
}

/// What a command has said.
#[derive(Debug)]
pub struct Said {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-sql"));
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub async fn run(args: &[&str]) -> Said {
    said(&mut command(args)).await
}

pub async fn said(command: &mut Command) -> Said {
    let output = within(command.output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        status: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// It ends well; its rows.
pub async fn rows(args: &[&str]) -> String {
    let said = run(args).await;
    assert_eq!(said.status, 0, "{args:?}: {}", said.err);
    said.out
}

/// A table in a folder, made by the command itself, in one process.
pub async fn make(folder: &Path, file: &str, sql: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    rows(&["--workers", "0", "--out", path.to_str().unwrap(), sql]).await;
}

/// A file in a folder.
pub fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// k 0..n, in v its residue by 7, a text in s.
pub fn series(n: usize) -> String {
    format!(
        "SELECT value AS k, value % 7 AS v, 'text ' || value AS s
         FROM generate_series(0, {})",
        n - 1
    )
}

/// Something that runs, whose rows are read meanwhile.
pub struct Running {
    pub child: Child,
    pub out: BufReader<ChildStdout>,
    pub err: ChildStderr,
}

impl Running {
    pub fn start(args: &[&str], temporary: &Path) -> Self {
        Self::of(command(args).env("TMPDIR", temporary))
    }

    pub fn of(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = child.stderr.take().unwrap();
        Self { child, out, err }
    }

    pub async fn line(&mut self) -> String {
        let mut line = String::new();
        within(self.out.read_line(&mut line)).await.unwrap();
        line
    }

    /// Where a worker says that it is.
    pub async fn address(&mut self) -> String {
        let line = self.line().await;
        let at = line.strip_prefix("weir-sql worker at ");
        at.unwrap_or_else(|| panic!("{line}")).trim().to_owned()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Read all that comes until it, and all whom it has started, are gone:
    /// they have the pipes, too.
    pub async fn end(mut self) -> Said {
        let (mut out, mut err) = (Vec::new(), String::new());
        let all = async {
            let out = self.out.read_to_end(&mut out);
            let err = self.err.read_to_string(&mut err);
            let (out, err) = tokio::join!(out, err);
            out.unwrap();
            err.unwrap();
            self.child.wait().await.unwrap()
        };
        let status = within(all).await.code().unwrap_or(-1);
        Said { status, out: String::new(), err }
    }
}

/// Processes that a process has started.
pub fn children(pid: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Ok(child) = name.to_string_lossy().parse::<u32>() else {
            continue;
        };
        let status = entry.path().join("status");
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let parent = status.lines().find_map(|l| l.strip_prefix("PPid:"));
        if parent.and_then(|p| p.trim().parse().ok()) == Some(pid) {
            children.push(child);
        }
    }
    children
}

pub async fn send(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let status = kill.args([signal, &pid.to_string()]).status().await;
    assert!(status.unwrap().success());
}

pub fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}
