// SPDX-License-Identifier: Apache-2.0
//! Who may have workers run his plans, and what those may read.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::*;
use tempfile::tempdir;

fn secret(folder: &Path, name: &str, letter: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, letter.repeat(64)).unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    file
}

/// Ports that a process listens at, of IPv4.
fn ports(pid: u32) -> Vec<u16> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = files.flatten().filter_map(|fd| {
        let to = std::fs::read_link(fd.path()).ok()?;
        let to = to.to_string_lossy().into_owned();
        let inode = to.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(inode.to_owned())
    });
    let sockets = links.collect::<Vec<_>>();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table.lines().skip(1).filter_map(|line| {
        let fields = line.split_whitespace().collect::<Vec<_>>();
        let (_, port) = fields[1].split_once(':')?;
        let listens = fields[3] == "0A";
        let ours = sockets.iter().any(|inode| inode == fields[9]);
        (listens && ours).then(|| u16::from_str_radix(port, 16).unwrap())
    });
    lines.collect()
}

/// Workers that a command starts run nobody else's plans.
#[tokio::test]
async fn workers_of_a_command_take_plans_of_it_alone() {
    let folder = tempdir().unwrap();
    make(folder.path(), "data/t.parquet", &series(1500)).await;
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    for transport in ["shm", "tcp"] {
        let args = ["-w", "2", "-d", data, "--transport", transport];
        let args = [&args[..], &["--format", "csv", ENDLESS]].concat();
        let mut running = Running::start(&args, folder.path());
        assert_eq!(running.line().await, "k\n");
        let mut tried = 0;
        let other = secret(folder.path(), "other", "b");
        let other = other.to_str().unwrap();
        for worker in children(running.pid()) {
            for port in ports(worker) {
                let at = format!("127.0.0.1:{port}");
                let sql = "SELECT v, count(*) FROM t GROUP BY v";
                let args = ["--connect", &at, "-d", data, sql];
                for secret in [&[][..], &["--secret-file", other]] {
                    let said = run(&[&args[..], secret].concat()).await;
                    assert_eq!(said.status, 4, "{}", said.err);
                    assert_eq!(said.out, "");
                }
                tried += 1;
            }
        }
        assert!(tried >= 2, "{tried} ports");
        send("-INT", running.pid()).await;
        assert_eq!(running.end().await.status, 130);
    }
}

#[tokio::test]
async fn a_worker_wants_its_secret_of_clients_and_of_other_workers() {
    let folder = tempdir().unwrap();
    make(folder.path(), "data/t.parquet", &series(1500)).await;
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let ours = secret(folder.path(), "ours", "a");
    let other = secret(folder.path(), "other", "b");
    let (ours, other) = (ours.to_str().unwrap(), other.to_str().unwrap());
    let sql = "SELECT v, count(*) AS n FROM t GROUP BY v ORDER BY v";
    for transport in ["auto", "tcp"] {
        let worker = || {
            let args = ["worker", "--secret-file", ours, "--data", data];
            let over = ["--transport", transport];
            Running::start(&[&args[..], &over].concat(), folder.path())
        };
        let (mut one, mut two) = (worker(), worker());
        let at = format!("{},{}", one.address().await, two.address().await);
        let args = ["--connect", &at, "-d", data, "--transport", transport];
        let args = [&args[..], &["--format", "csv", sql]].concat();
        for exchange in ["weir", "grpc"] {
            let args = [&args[..], &["--exchange", exchange]].concat();
            let right = [&args[..], &["--secret-file", ours]].concat();
            let said = run(&right).await;
            assert_eq!(said.status, 0, "{}", said.err);
            assert!(said.out.starts_with("v,n\n0,215\n"), "{}", said.out);
            for wrong in [&[][..], &["--secret-file", other]] {
                let said = run(&[&args[..], wrong].concat()).await;
                assert_eq!(said.status, 4, "{}", said.err);
                assert_eq!(said.out, "");
                assert_eq!(said.err.lines().count(), 1, "{}", said.err);
            }
        }
        for worker in [one, two] {
            send("-TERM", worker.pid()).await;
            assert_eq!(worker.end().await.status, 0);
        }
    }
}

#[tokio::test]
async fn a_worker_reads_its_folders_alone() {
    let folder = tempdir().unwrap();
    make(folder.path(), "in/t.parquet", &series(1500)).await;
    make(folder.path(), "out/t.parquet", &series(1500)).await;
    let (inside, outside) =
        (folder.path().join("in"), folder.path().join("out"));
    let link = inside.join("u.parquet");
    std::os::unix::fs::symlink(outside.join("t.parquet"), link).unwrap();
    let (inside, outside) =
        (inside.to_str().unwrap(), outside.to_str().unwrap());
    let args = ["worker", "--anybody", "--data", inside];
    let mut one = Running::start(&args, folder.path());
    let mut two = Running::start(&args, folder.path());
    let at = format!("{},{}", one.address().await, two.address().await);
    let ask = async |data: &str, table: &str| {
        let sql = format!(
            "SELECT v, count(*) AS n FROM {table} GROUP BY v ORDER BY v"
        );
        let args = ["--connect", &at, "-d", data, "--format", "csv", &sql];
        run(&args).await
    };
    let said = ask(inside, "t").await;
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.out.starts_with("v,n\n0,215\n"), "{}", said.out);
    for (data, table) in [(outside, "t"), (inside, "u")] {
        let said = ask(data, table).await;
        assert_eq!(said.status, 1, "{table}: {}", said.err);
        assert!(said.err.contains("may not read it"), "{}", said.err);
        assert_eq!(said.out, "");
    }
    for worker in [one, two] {
        send("-TERM", worker.pid()).await;
        assert_eq!(worker.end().await.status, 0);
    }
}
