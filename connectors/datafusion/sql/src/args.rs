// SPDX-License-Identifier: Apache-2.0
//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// SQL over files, distributed: Apache DataFusion, its rows exchanged by Weir.
#[derive(Parser)]
#[command(name = "weir-sql", version, args_conflicts_with_subcommands = true)]
#[command(after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub client: Client,
}

const AFTER: &str = "\
Examples:
  weir-sql --data taxi \"SELECT count(*) FROM trips\"
  weir-sql --data taxi                               # a prompt
  weir-sql worker --listen 10.0.0.2:4000 --secret-file secret --data /shared
  weir-sql --connect 10.0.0.2:4000,10.0.0.3:4000 --secret-file secret \\
      --data /shared/taxi -f q.sql

Exit status: 0 done, 1 a query failed, 2 wrong use, 3 bad input (no such file,
a mistake in the SQL), 4 a worker was lost, 128 + n ended by signal n.";

#[derive(Subcommand)]
pub enum Command {
    /// Run a worker, until SIGINT or SIGTERM.
    ///
    /// It prints one line with its address, which is for --connect. A worker
    /// reads the files itself, so it has to see them under the paths that the
    /// client has. It runs the plans of whoever knows its secret.
    Worker(WorkerArgs),
}

#[derive(Args, Clone)]
pub struct WorkerArgs {
    /// HOST:PORT for plans; rows come from another port of HOST. Port 0: any.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "HOST:PORT")]
    pub listen: String,
    /// HOST:PORT from which rows come [default: HOST of --listen, any port].
    #[arg(long, value_name = "HOST:PORT")]
    pub listen_rows: Option<String>,
    /// Host at which others reach this one, where that is not what it listens
    /// at (0.0.0.0, containers).
    #[arg(long, value_name = "HOST")]
    pub advertise: Option<String>,
    /// A folder, or a file, that plans may read; more than once. They read
    /// nothing else, and write nothing.
    #[arg(short, long, value_name = "PATH")]
    #[arg(required_unless_present = "child")]
    pub data: Vec<PathBuf>,
    /// Run the plans of whoever reaches the port.
    #[arg(long, conflicts_with = "secret_file")]
    #[arg(required_unless_present_any = ["child", "secret_file"])]
    pub anybody: bool,
    #[command(flatten)]
    pub common: Common,
    /// Started by weir-sql: the secret comes by standard input; end when that
    /// does.
    #[arg(long, hide = true)]
    pub child: bool,
    /// Folder for what operators spill.
    #[arg(long, hide = true)]
    pub spill: Option<PathBuf>,
}

/// What clients and workers share.
#[derive(Args, Clone)]
pub struct Common {
    /// What rows travel over; auto takes the best way to each worker.
    #[arg(long, value_enum, default_value_t = Transport::Auto)]
    pub transport: Transport,
    /// Memory of each worker for operators, such as 2GB; beyond it sorts,
    /// aggregations and joins that can spill to disk. The exchange takes up to
    /// as much again [default: no limit; the exchange 2GB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// The secret that clients and workers prove to each other that they know:
    /// `openssl rand -hex 32 >secret; chmod 600 secret`. What goes over tcp is
    /// encrypted by it.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

#[derive(Args, Clone)]
pub struct Client {
    /// Statements, separated by semicolons. None: a prompt, or standard input
    /// if that is no terminal.
    pub sql: Option<String>,
    /// A folder whose Parquet, CSV, JSON and Arrow files and sub-folders become
    /// tables, each under the name that it has without its ending; or a file.
    #[arg(short, long, value_name = "PATH")]
    pub data: Vec<PathBuf>,
    /// Workers that are started on this host; 0: none, all runs in one process
    /// [default: a processor each, 2 to 8].
    #[arg(short, long, value_name = "N", conflicts_with = "connect")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=64))]
    pub workers: Option<u16>,
    /// Workers that run already, as `weir-sql worker` prints them.
    #[arg(short, long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub connect: Vec<String>,
    /// Read the statements from a file; `-`: standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
    /// What carries rows: Weir, or the gRPC of DataFusion Distributed.
    #[arg(long, value_enum, default_value_t = Exchange::Weir)]
    pub exchange: Exchange,
    /// Partitions of each task [default: processors per worker, at least 2].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub partitions: Option<u16>,
    /// Bytes of files that are worth one partition of a task; less of them, and
    /// a table is read by fewer workers.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1")]
    pub split: u64,
    /// How rows are printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write the rows of the last statement to a file instead: .parquet, .csv,
    /// .json (an object per line) or .arrow.
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print how queries would run, instead of their rows.
    #[arg(long, conflicts_with_all = ["analyze", "out"])]
    pub explain: bool,
    /// Run queries, and print how they ran instead of their rows.
    #[arg(long, conflicts_with = "out")]
    pub analyze: bool,
    /// Print nothing but rows and errors.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    Auto,
    Shm,
    Tcp,
    Verbs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exchange {
    Weir,
    Grpc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Csv,
    Tsv,
    /// One array of objects.
    Json,
    /// An object per line.
    Ndjson,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shm => "shm",
            Self::Tcp => "tcp",
            Self::Verbs => "verbs",
        }
    }

    /// Peers reach it at a host and a port.
    pub fn has_ports(self) -> bool {
        !matches!(self, Self::Shm)
    }
}

/// Bytes: `64k`, `2GB`, `1.5 GiB`; a unit is a power of 1024.
fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.trim_end_matches('b').trim_end_matches('i');
    let shift = match unit {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("a number and k, m, g or t, such as 2GB".into()),
    };
    let number = number.parse::<f64>();
    let number = number.map_err(|_| "no number, such as 2GB".to_string())?;
    let bytes = number * (1_u64 << shift) as f64;
    if !(1.0..9e15).contains(&bytes) {
        return Err("at least 1 byte, at most 8 PiB".into());
    }
    Ok(bytes as u64)
}

/// HOST and PORT of a text; `[::1]:80` is one, too.
pub fn host_and_port(text: &str) -> Result<(&str, u16), String> {
    let wrong = || format!("{text}: not HOST:PORT");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let bare = !host.is_empty()
        && (!host.contains(':') || text.parse::<SocketAddr>().is_ok());
    bare.then_some((host, port)).ok_or_else(wrong)
}

/// Arguments as clap wants them: a statement that begins with a comment looks
/// like an option, but for the space in it.
pub fn in_order(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all = all.collect::<Vec<_>>();
    if all.iter().any(|arg| arg == "--") {
        return all;
    }
    let is_statement = |arg: &OsString| {
        let text = arg.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        text.starts_with("--")
            && (name.contains(char::is_whitespace) || text.contains('\n'))
    };
    if let Some(at) = all.iter().position(is_statement) {
        let statement = all.remove(at);
        all.extend(["--".into(), statement]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("1", 1), ("64k", 65536), ("1.5 KiB", 1536), ("2GB", 2 << 30)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "0", "-1", "1x", "1e30", "9999999tb", "1.2.3"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_comment_is_no_option() {
        let parse = |args: &[&str]| {
            let all = ["weir-sql"].iter().chain(args).map(OsString::from);
            Cli::try_parse_from(in_order(all)).map(|cli| cli.client)
        };
        for sql in ["-- a\nSELECT 1", "--\nSELECT 1", "--a=b\nSELECT 1"] {
            let client = parse(&[sql, "-w", "0"]).unwrap();
            assert_eq!(client.sql.as_deref(), Some(sql));
            assert_eq!(client.workers, Some(0));
        }
        let client = parse(&["--data=a b", "SELECT 1"]).unwrap();
        assert_eq!(client.data, [PathBuf::from("a b")]);
        assert!(parse(&["--wrong"]).is_err());
    }

    #[test]
    fn hosts_and_ports() {
        assert_eq!(host_and_port("a.b:80"), Ok(("a.b", 80)));
        assert_eq!(host_and_port("[::1]:80"), Ok(("[::1]", 80)));
        for text in ["", "a", ":80", "a:", "a:99999", "::1:80", "http://a:80"] {
            assert!(host_and_port(text).is_err(), "{text}");
        }
    }
}
