// SPDX-License-Identifier: Apache-2.0
//! How it ends when something is wrong: at once, with a status, and with
//! nothing left behind.

mod common;

use common::*;
use tempfile::{TempDir, tempdir};

/// Rows without end, as far as a test goes.
const ENDLESS: &str = "SELECT a.k FROM t a, t b, t c WHERE a.v + b.v < 99";

struct Case {
    folder: TempDir,
    data: String,
    temporary: std::path::PathBuf,
}

async fn case() -> Case {
    let folder = tempdir().unwrap();
    make(folder.path(), "data/t.parquet", &series(1500)).await;
    let data = folder.path().join("data").to_str().unwrap().to_owned();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    Case { folder, data, temporary }
}

#[tokio::test]
async fn a_worker_that_is_killed_is_named() {
    let case = case().await;
    for transport in ["shm", "tcp"] {
        let args = ["-w", "3", "-d", &case.data, "--transport", transport];
        let args = [&args[..], &["--format", "csv", ENDLESS]].concat();
        let mut running = Running::start(&args, &case.temporary);
        assert_eq!(running.line().await, "k\n");
        let victim = children(running.pid())[1];
        send("-KILL", victim).await;
        let said = running.end().await;
        assert_eq!(said.status, 4, "{}", said.err);
        let who = format!("(process {victim}) is lost: signal: 9 (SIGKILL)");
        assert!(said.err.contains(&who), "{}", said.err);
        assert!(is_empty(&case.temporary));
    }
}

#[tokio::test]
async fn a_client_that_is_killed_leaves_no_worker() {
    let case = case().await;
    let args = ["-w", "3", "-d", &case.data, "--format", "csv", ENDLESS];
    let mut running = Running::start(&args, &case.temporary);
    assert_eq!(running.line().await, "k\n");
    assert_eq!(children(running.pid()).len(), 3);
    send("-KILL", running.pid()).await;
    let said = running.end().await; // all have ended
    assert_eq!(said.status, -1);
    assert!(is_empty(&case.temporary));
}

#[tokio::test]
async fn signals_end_it_and_remove_the_file() {
    let case = case().await;
    let out = case.folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let file = out.join("rows.csv");
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let args = ["-w", "2", "-d", &case.data, "--format", "csv", ENDLESS];
        let mut running = Running::start(&args, &case.temporary);
        assert_eq!(running.line().await, "k\n");
        send(signal, running.pid()).await;
        assert_eq!(running.end().await.status, status);
        // The first statement's row tells that the second one comes.
        let sql = format!("SELECT 1 AS one; {ENDLESS}");
        let args = ["-w", "2", "-d", &case.data, "--format", "csv", "-o"];
        let args = [&args[..], &[file.to_str().unwrap(), &sql]].concat();
        let mut running = Running::start(&args, &case.temporary);
        assert_eq!(running.line().await, "one\n");
        send(signal, running.pid()).await;
        assert_eq!(running.end().await.status, status);
        assert!(is_empty(&out) && is_empty(&case.temporary));
    }
}

#[tokio::test]
async fn a_query_that_fails_leaves_no_file() {
    let case = case().await;
    let out = case.folder.path().join("out.parquet");
    let sql = "SELECT v / (k - 1321) AS d, count(*) FROM t GROUP BY d";
    for workers in ["0", "2"] {
        let args = ["-w", workers, "-d", &case.data, "-o"];
        let args = [&args[..], &[out.to_str().unwrap(), sql]].concat();
        let said = run(&args).await;
        assert_eq!(said.status, 1, "{}", said.err);
        assert!(said.err.contains("Divide by zero"), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        // With workers it is one of them that has failed.
        let far = said.err.contains("worker http://127.0.0.1:");
        assert_eq!(far, workers == "2", "{}", said.err);
        let left = std::fs::read_dir(case.folder.path()).unwrap().count();
        assert_eq!(left, 2); // data and tmp
    }
}

#[tokio::test]
async fn a_closed_pipe_is_no_error() {
    let case = case().await;
    let args = ["-w", "2", "-d", &case.data, "--format", "csv", ENDLESS];
    let mut running = Running::start(&args, &case.temporary);
    assert_eq!(running.line().await, "k\n");
    let Running { mut child, out, mut err } = running;
    drop(out);
    let mut said = String::new();
    use tokio::io::AsyncReadExt;
    within(err.read_to_string(&mut said)).await.unwrap();
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(141));
    assert_eq!(said, "");
}

#[tokio::test]
async fn workers_by_hand() {
    let case = case().await;
    let worker = || {
        let listen = ["worker", "--listen", "127.0.0.1:0"];
        Running::start(&listen, &case.temporary)
    };
    let (mut one, mut two) = (worker(), worker());
    let at = |line: &str| {
        let at = line.strip_prefix("weir-sql worker at ");
        at.unwrap_or_else(|| panic!("{line}")).trim().to_owned()
    };
    let (a, b) = (at(&one.line().await), at(&two.line().await));
    let connect = format!("{a},{b}");
    let sql = "SELECT v, count(*) AS n FROM t GROUP BY v ORDER BY v";
    let args = ["--connect", &connect, "-d", &case.data];
    for exchange in ["weir", "grpc"] {
        let exchange = ["--exchange", exchange, "--format", "csv", sql];
        let said = rows(&[&args[..], &exchange].concat()).await;
        assert!(said.starts_with("v,n\n0,215\n"), "{said}");
    }
    // One of them is lost under a query.
    let endless = ["--format", "csv", ENDLESS];
    let args = [&args[..], &endless].concat();
    let mut running = Running::start(&args, &case.temporary);
    assert_eq!(running.line().await, "k\n");
    send("-KILL", two.pid()).await;
    let said = running.end().await;
    assert_eq!(said.status, 4, "{}", said.err);
    assert!(said.err.contains(&format!("worker {b} is lost")), "{}", said.err);
    let said = run(&args).await;
    assert_eq!(said.status, 4, "{}", said.err);
    let gone = format!("worker {b} is not there: ");
    assert!(said.err.contains(&gone), "{}", said.err);
    send("-TERM", one.pid()).await;
    assert_eq!(one.end().await.status, 0);
}

#[tokio::test]
async fn a_port_in_use() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let said = run(&["worker", "--listen", &at]).await;
    assert_eq!(said.status, 1);
    let text =
        format!("weir-sql: cannot listen at {at}: Address already in use");
    assert!(said.err.starts_with(&text), "{}", said.err);
}

/// What a stranger tries first.
#[tokio::test]
async fn mistakes() {
    let case = case().await;
    let (data, out) = (case.data.as_str(), "/nowhere/a.csv");
    let empty = case.temporary.to_str().unwrap();
    for (args, status, text) in [
        (&["--wrong"][..], 2, "unexpected argument '--wrong'"),
        (&["-w", "65", "SELECT 1"], 2, "65 is not in 0..=64"),
        (&["-w", "1", "--connect", "a:1", "SELECT 1"], 2, "cannot be used"),
        (&["--connect", "nowhere", "SELECT 1"], 2, "nowhere: not HOST:PORT"),
        (&["--memory", "lots", "SELECT 1"], 2, "a number and k, m, g or t"),
        (&["worker", "--listen", "80"], 2, "80: not HOST:PORT"),
        (&["worker", "--listen", "0.0.0.0:0"], 2, "--advertise"),
        (&["-o", "a.txt", "SELECT 1"], 2, "not .parquet, .csv, .json or"),
        (&["-o", out, "SELECT 1"], 3, "/nowhere/a.csv: no file in a folder"),
        (&["-d", "/nowhere", "SELECT 1"], 3, "/nowhere: No such file"),
        (&["-d", empty, "SELECT 1"], 3, "no Parquet, CSV, JSON or Arrow"),
        (&["-d", data, "SELECT x FROM t"], 3, "No field named x"),
        (&["-d", data, "SELECT * FROM u"], 3, "not found; there are: t"),
        (&["-d", data, "SELEC 1"], 3, "Expected"),
        (&["-d", data, "-f", "/nowhere.sql"], 3, "/nowhere.sql: No such file"),
        (&[" ; "], 3, "no statement"),
    ] {
        let said = run(args).await;
        assert_eq!(said.status, status, "{args:?}: {}", said.err);
        assert!(said.err.contains(text), "{args:?}: {}", said.err);
        assert_eq!(said.out, "", "{args:?}");
    }
}

/// Files that are none of what their names say, or do not go together.
#[tokio::test]
async fn files_that_cannot_be_tables() {
    let folder = tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("torn/t.parquet", "no parquet at all");
    write("twice/t.csv", "a\n1\n");
    write("twice/t.json", "{\"a\":1}\n");
    write("mixed/t/a.csv", "a\n1\n");
    write("mixed/t/b.json", "{\"a\":1}\n");
    for (name, text) in [
        ("torn", "t.parquet: "),
        ("twice", "would both be the table t"),
        ("mixed", "files that end with .csv and with .json"),
    ] {
        let data = folder.path().join(name);
        let said = run(&["-d", data.to_str().unwrap(), "SELECT 1"]).await;
        assert_eq!(said.status, 3, "{name}: {}", said.err);
        assert!(said.err.contains(text), "{name}: {}", said.err);
    }
}
