// SPDX-License-Identifier: Apache-2.0
//! The prompt, on a terminal of its own: `script` of util-linux makes one.

mod common;

use std::process::Stdio;

use common::*;
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};

struct Terminal {
    input: ChildStdin,
    output: ChildStdout,
    seen: String,
}

impl Terminal {
    async fn type_in(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).await.unwrap();
    }

    /// Read until a text has come, and forget what was before it.
    async fn wait_for(&mut self, text: &str) {
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            let n = within(self.output.read(&mut bytes)).await.unwrap();
            assert!(n > 0, "{text} has not come: {}", self.seen);
            self.seen += &String::from_utf8_lossy(&bytes[..n]);
        }
    }
}

#[tokio::test]
async fn a_prompt_outlives_its_queries_and_its_workers() {
    let folder = tempdir().unwrap();
    make(folder.path(), "t.parquet", &series(1500)).await;
    let weir_sql = env!("CARGO_BIN_EXE_weir-sql");
    let data = folder.path().join("t.parquet");
    let line =
        format!("exec {weir_sql} -w 2 --format csv --data {}", data.display());
    let mut child = Command::new("script")
        .args(["-qefc", &line, "/dev/null"])
        .env("HOME", folder.path())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let input = child.stdin.take().unwrap();
    let output = child.stdout.take().unwrap();
    let mut terminal = Terminal { input, output, seen: String::new() };
    terminal.wait_for("weir> ").await;
    terminal.type_in("SELECT count(*) AS n\n").await;
    terminal.wait_for("... ").await;
    terminal.type_in("FROM t;\n").await;
    terminal.wait_for("n\r\n1500\r\n").await;
    // A mistake.
    terminal.wait_for("weir> ").await;
    terminal.type_in("SELECT count(*) FROM u;\n").await;
    terminal.wait_for("not found; there are: t").await;
    // Ctrl-C gives up the query, not the prompt.
    terminal.wait_for("weir> ").await;
    let endless = format!("{ENDLESS};\n");
    terminal.type_in(&endless).await;
    terminal.wait_for("k\r\n").await;
    terminal.type_in("\x03").await;
    terminal.wait_for("weir-sql: interrupted").await;
    // Nor does a lost worker end it.
    terminal.wait_for("weir> ").await;
    let client = children(child.id().unwrap());
    assert_eq!(client.len(), 1);
    let workers = children(client[0]);
    assert_eq!(workers.len(), 2);
    terminal.type_in(&endless).await;
    terminal.wait_for("k\r\n").await;
    send("-KILL", workers[0]).await;
    let lost = format!("(process {}) is lost", workers[0]);
    terminal.wait_for(&lost).await;
    terminal.wait_for("weir> ").await;
    terminal.type_in("SELECT sum(k) AS sum FROM t;\n").await;
    terminal.wait_for("sum\r\n1124250\r\n").await;
    terminal.wait_for("weir> ").await;
    terminal.type_in("\\q\n").await;
    assert!(within(child.wait()).await.unwrap().success());
    let history = folder.path().join(".weir_sql_history");
    let history = std::fs::read_to_string(history).unwrap();
    assert!(history.contains("SELECT count(*) FROM u;"), "{history}");
}
