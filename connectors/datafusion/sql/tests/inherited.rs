// SPDX-License-Identifier: Apache-2.0
//! What the command inherits from whoever started it: signals that are ignored
//! or blocked, standard descriptors that are closed or full.

mod common;

use common::*;
use tempfile::tempdir;
use tokio::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_weir-sql");

/// A line of the shell, in which $W is the command.
async fn shell(line: &str) -> Said {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("W", BINARY).kill_on_drop(true);
    said(&mut shell).await
}

const ROWS: &str = "\"$W\" -w 2 --format csv 'SELECT 1 AS a'";

#[tokio::test]
async fn rows_that_nobody_gets_are_an_error() {
    for what in [">&-", "<&- >&-", "<&- >&- 2>&-", ">/dev/full"] {
        for format in ["csv", "table", "json", "ndjson"] {
            let sql = "'SELECT 1 AS a'";
            let line = format!("\"$W\" -w 0 --format {format} {sql} {what}");
            let said = shell(&line).await;
            assert_eq!(said.status, 1, "{line}: {}", said.err);
            let silent = what.contains("2>&-");
            assert!(
                silent || said.err.contains("standard output"),
                "{line}: {}",
                said.err
            );
        }
        for line in [
            format!("{ROWS} {what}"),
            format!("\"$W\" --version {what}"),
            format!("\"$W\" --help {what}"),
            format!("\"$W\" -w 0 'EXPLAIN SELECT 1' {what}"),
        ] {
            let said = shell(&line).await;
            assert_eq!(said.status, 1, "{line}: {}", said.err);
        }
    }
}

#[tokio::test]
async fn what_is_not_needed_may_be_closed_or_full() {
    for what in ["<&-", "2>&-", "<&- 2>&-", "2>/dev/full"] {
        let said = shell(&format!("{ROWS} {what}")).await;
        assert_eq!((said.status, &*said.out), (0, "a\n1\n"), "{what}");
        let wrong = shell(&format!("\"$W\" -w 0 'SELEC 1' {what}")).await;
        assert_eq!(wrong.status, 3, "{what}");
    }
    let said = shell("\"$W\" -w 0 -f - <&-").await;
    assert_ne!(said.status, 0);
}

#[tokio::test]
async fn inherited_signals_change_nothing() {
    let folder = tempdir().unwrap();
    make(folder.path(), "t.parquet", &series(1500)).await;
    let data = folder.path().to_str().unwrap();
    let start = |how: &str| {
        let mut command = Command::new("env");
        command.args([how, BINARY, "-w", "2", "-d", data, "--format", "csv"]);
        command.arg(ENDLESS).env("TMPDIR", folder.path());
        Running::of(&mut command)
    };
    // Ignored, SIGCHLD makes the kernel forget how a worker ended.
    let mut running = start("--ignore-signal=CHLD");
    assert_eq!(running.line().await, "k\n");
    let victim = children(running.pid())[0];
    send("-KILL", victim).await;
    let said = running.end().await;
    assert_eq!(said.status, 4, "{}", said.err);
    assert!(said.err.contains("signal: 9 (SIGKILL)"), "{}", said.err);
    // Blocked, SIGTERM ends the command all the same.
    let mut running = start("--block-signal=TERM");
    assert_eq!(running.line().await, "k\n");
    send("-TERM", running.pid()).await;
    assert_eq!(running.end().await.status, 143);
}
