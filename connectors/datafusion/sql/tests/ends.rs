// SPDX-License-Identifier: Apache-2.0
//! How it ends when something is wrong: at once, with a status, and with
//! nothing left behind.

mod common;

use common::*;
use tempfile::{TempDir, tempdir};

/// A tenth of a second.
const SHORT: std::time::Duration = std::time::Duration::from_millis(100);

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
        let listen = ["worker", "--anybody", "--data", &case.data];
        Running::start(&listen, &case.temporary)
    };
    let (mut one, mut two) = (worker(), worker());
    let (a, b) = (one.address().await, two.address().await);
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
    let listen = ["worker", "--listen", &at, "--anybody", "--data", "/"];
    let said = run(&listen).await;
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
    let any = ["worker", "--anybody", "--data", "/"];
    for (args, status, text) in [
        (&["--wrong"][..], 2, "unexpected argument '--wrong'"),
        (&["-w", "65", "SELECT 1"], 2, "65 is not in 0..=64"),
        (&["-w", "1", "--connect", "a:1", "SELECT 1"], 2, "cannot be used"),
        (&["--connect", "nowhere", "SELECT 1"], 2, "nowhere: not HOST:PORT"),
        (&["--memory", "lots", "SELECT 1"], 2, "a number and k, m, g or t"),
        (&[&any[..], &["--listen", "80"]].concat(), 2, "80: not HOST:PORT"),
        (&[&any[..], &["--listen", "0.0.0.0:0"]].concat(), 2, "--advertise"),
        (&["worker", "--data", "/"], 2, "--anybody"),
        (&["worker", "--anybody"], 2, "--data"),
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

/// Files that are none of what their names say, or do not go together: only
/// who asks for them is refused.
#[tokio::test]
async fn files_that_cannot_be_tables_are_left_out() {
    let folder = tempdir().unwrap();
    let write = |file: &str, text: &str| write(folder.path(), file, text);
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
        write(&format!("{name}/good.csv"), "a\n1\n2\n");
        let data = folder.path().join(name);
        let data = data.to_str().unwrap();
        let good = "SELECT sum(a) AS s FROM good";
        let args = ["-w", "2", "-d", data, "--format", "csv"];
        let said = run(&[&args[..], &[good]].concat()).await;
        assert_eq!((said.status, &*said.out), (0, "s\n3\n"), "{}", said.err);
        assert!(said.err.contains("left out: "), "{name}: {}", said.err);
        assert!(said.err.contains(text), "{name}: {}", said.err);
        let args = [&args[..], &["-q"]].concat();
        let said = run(&[&args[..], &["SELECT a FROM t"]].concat()).await;
        assert_eq!(said.status, 3, "{name}: {}", said.err);
        assert!(said.err.contains(text), "{name}: {}", said.err);
        let said = run(&[&args[..], &[good]].concat()).await;
        assert_eq!((said.status, &*said.err), (0, ""));
    }
}

/// Tables are named only where one is missing.
#[tokio::test]
async fn other_errors_name_no_tables() {
    let case = case().await;
    for sql in [
        "SELECT no_such(k) FROM t",
        "SELECT * FROM t WHERE table_x = 1",
        "SELECT 'table' || x, 'not' FROM t",
        "INSERT INTO t SELECT 1",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/nowhere/x.csv'",
    ] {
        let said = run(&["-w", "0", "-d", &case.data, sql]).await;
        assert_ne!(said.status, 0, "{sql}");
        assert!(!said.err.contains("there are:"), "{sql}: {}", said.err);
    }
}

#[tokio::test]
async fn comments_end_and_begin_statements() {
    let case = case().await;
    let args = ["-w", "0", "-d", &case.data, "--format", "csv"];
    for sql in [
        "-- first; second\nSELECT max(k) AS n FROM t -- done;",
        "--\n--data x;\nSELECT /* ; */ max(k) AS n FROM t;",
        "-- n=1\nSELECT max(k) AS n FROM t; -- that is all",
    ] {
        let first = run(&[&args[..], &[sql]].concat()).await;
        assert_eq!((first.status, &*first.out), (0, "n\n1499\n"), "{sql}");
        let last = run(&[&[sql], &args[..]].concat()).await;
        assert_eq!((last.status, &*last.out), (0, "n\n1499\n"), "{sql}");
    }
}

/// What a process has computed so far, in ticks.
fn computed(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    let fields = after.split(' ').collect::<Vec<_>>();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Workers that run for others, too, compute nothing for who is gone.
#[tokio::test]
async fn workers_of_a_client_that_is_gone_compute_no_more() {
    let case = case().await;
    let listen = ["worker", "--anybody", "--data", &case.data];
    let mut workers = [
        Running::start(&listen, &case.temporary),
        Running::start(&listen, &case.temporary),
    ];
    let mut at = Vec::new();
    for worker in &mut workers {
        at.push(worker.address().await);
    }
    // No row of it comes for long, and all of it is below a shuffle.
    let sql = "SELECT a.v, count(*) FROM t a, t b, t c, t d
               WHERE a.v + b.v < 99 AND d.k < 1000 GROUP BY a.v";
    for signal in ["-INT", "-KILL"] {
        let connect = at.join(",");
        let args = ["--connect", &connect, "-d", &case.data, "--format", "csv"];
        let sql = format!("SELECT 1 AS one; {sql}");
        let args = [&args[..], &[&sql]].concat();
        let mut running = Running::start(&args, &case.temporary);
        assert_eq!(running.line().await, "one\n");
        let pids = workers.each_ref().map(Running::pid);
        let sum = || pids.iter().map(|pid| computed(*pid)).sum::<u64>();
        let begun = sum();
        within(async {
            while sum() < begun + 30 {
                tokio::time::sleep(SHORT).await;
            }
        })
        .await;
        send(signal, running.pid()).await;
        running.end().await;
        // Until a whole second has next to nothing in it. Not in 25 of them.
        let quiet = async {
            loop {
                let before = sum();
                tokio::time::sleep(SHORT * 10).await;
                if sum() < before + 5 {
                    return;
                }
            }
        };
        let quiet = tokio::time::timeout(SHORT * 150, quiet).await;
        assert!(quiet.is_ok(), "they compute on after {signal}");
    }
    for worker in workers {
        send("-TERM", worker.pid()).await;
        assert_eq!(worker.end().await.status, 0);
    }
}

/// SET reaches those who compute.
#[tokio::test]
async fn a_memory_limit_that_is_set_holds_for_workers() {
    let case = case().await;
    make(case.folder.path(), "data/big.parquet", &series(300_000)).await;
    let sql = "SET datafusion.runtime.memory_limit = '8M';
               SET datafusion.execution.sort_spill_reservation_bytes = 1000000;
               EXPLAIN ANALYZE SELECT v, count(*) FROM
               (SELECT v, row_number() OVER (PARTITION BY v ORDER BY s) AS r
                FROM big)
               WHERE r > 0 GROUP BY v";
    let args = ["-w", "2", "-q", "-d", &case.data, sql];
    let said = run(&args).await;
    assert_eq!(said.status, 0, "{}", said.err);
    let (_, stages) = said.out.split_once("Stage 1").unwrap();
    let spills = stages.split("spill_count=").skip(1);
    assert!(spills.filter(|it| !it.starts_with('0')).count() > 0, "{stages}");
}

/// DataFusion 55 computes with what lies under a NULL, and where overflows are
/// looked for it panics. One process has its rows in the thread of the prompt.
#[cfg(debug_assertions)]
#[tokio::test]
async fn a_panic_is_an_error_of_its_statement() {
    let case = case().await;
    let sql =
        "SELECT date_trunc('hour', max(TIMESTAMP '1999-12-31 06:00:00.25')
                   FILTER (WHERE false)) FROM t GROUP BY v";
    for workers in ["0", "2"] {
        let args = ["-w", workers, "-d", &case.data, sql];
        let said = run(&args).await;
        assert_eq!(said.status, 1, "{}", said.err);
        let last = said.err.lines().last().unwrap();
        assert!(last.contains("has panicked: attempt to"), "{}", said.err);
    }
}
