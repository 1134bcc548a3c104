// SPDX-License-Identifier: Apache-2.0
//! Workers as processes, and what Linux says of a process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use url::Url;

/// A worker, `examples/worker.rs`. Started again it has the same addresses.
pub struct Process {
    pub url: Url,
    transport: String,
    name: String,
    child: Child,
}

impl Process {
    pub fn start(transport: &str, name: &str) -> Self {
        let (child, url) = spawn(&["127.0.0.1:0", transport, name]);
        let (transport, name) = (transport.to_owned(), name.to_owned());
        Self { url, transport, name, child }
    }

    /// SIGKILL; it is gone when this returns.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn restart(&mut self) {
        let control = self.control();
        let mut args = vec![&*control, &*self.transport, &*self.name];
        let (_, node) = self.url.query_pairs().next().unwrap();
        if self.transport != "shm" {
            args.push(node.rsplit_once("tcp:").unwrap().1);
        }
        let (child, url) = spawn(&args);
        assert_eq!(url, self.url);
        self.child = child;
    }

    /// HOST:PORT, which an error must name when this worker is lost.
    pub fn control(&self) -> String {
        format!("127.0.0.1:{}", self.url.port().unwrap())
    }

    pub fn usage(&self) -> Usage {
        Usage::of(&self.child.id().to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(args: &[&str]) -> (Child, Url) {
    let mut child = Command::new(program())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let url = Url::parse(line.trim());
    (child, url.unwrap_or_else(|e| panic!("worker {args:?}: {e}: {line:?}")))
}

/// Cargo builds examples beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    folder.join("examples/worker")
}

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub resident_kib: u64,
    pub descriptors: usize,
}

impl Usage {
    pub fn own() -> Self {
        Self::of("self")
    }

    fn of(pid: &str) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let number = line.unwrap().split_whitespace().next().unwrap();
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        Self {
            resident_kib: number.parse().unwrap(),
            descriptors: open.count(),
        }
    }
}

/// Files of shared memory, and sockets of nodes, that this test has made: the
/// names of its nodes, the workers' too, have its number.
pub fn left() -> Vec<String> {
    let own = format!("-{}-", std::process::id());
    let files = fs::read_dir("/dev/shm").unwrap();
    let files = files.map(|f| f.unwrap().path().display().to_string());
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let sockets = sockets.lines().filter_map(|l| l.split_once("@weir/"));
    let all = files.chain(sockets.map(|(_, name)| name.to_owned()));
    all.filter(|name| name.contains(&own)).collect()
}
