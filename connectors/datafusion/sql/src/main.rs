// SPDX-License-Identifier: Apache-2.0
//! `weir-sql`: SQL over Parquet, CSV, JSON and Arrow files, distributed.
//!
//! DataFusion plans and computes, DataFusion Distributed cuts a plan into
//! stages and gives their tasks to workers, and Weir carries the rows from one
//! stage to the next ([`weir_datafusion`]). `docs/sql.md` is for those who use
//! it; the modules:
//!
//! ```text
//!   begin    before anything else          run      one statement
//!   args     the command line              print    rows on standard output
//!   cluster  the client's workers          out      rows in a file
//!   session  DataFusion as their client    explain  EXPLAIN, EXPLAIN ANALYZE
//!   tables   files as tables               progress what runs, on a terminal
//!   fail     statuses and messages         prompt   statements from a person
//!
//!   worker   a worker's process            folders  what its plans may read
//!   control  plans, on their way to it     shares   memory of its clients
//!   sealed   streams that they go over     identity who may send them
//! ```

mod args;
mod begin;
mod cluster;
mod control;
mod explain;
mod fail;
mod folders;
mod identity;
mod out;
mod print;
mod progress;
mod prompt;
mod run;
mod sealed;
mod session;
mod shares;
mod signals;
mod tables;
mod worker;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Client, Command};
use fail::{Fail, Result};
use run::Program;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(args::in_order(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => return asked(&help.render().to_string()),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(run(cli));
            // What still runs is nobody's.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Fail::failed(error)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fail) => {
            fail.say();
            ExitCode::from(fail.status as u8)
        }
    }
}

/// The help, or the version.
fn asked(text: &str) -> ExitCode {
    match begin::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Fail::stdout(&error).say();
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Some(Command::Worker(args)) => worker::run(args).await,
        None => client(cli.client).await,
    }
}

async fn client(client: Client) -> Result<()> {
    let script = script(&client)?;
    if script.is_none() && (client.out.is_some() || client.explain) {
        return Err(Fail::usage("no statement for --out or --explain"));
    }
    if let Some(out) = &client.out {
        out::check(out)?;
    }
    let mut program = Program::open(client).await?;
    let outcome = match script {
        Some(script) => program.run_script(&script).await,
        None => prompt::run(&mut program).await,
    };
    program.close().await;
    outcome
}

/// The statements; none: ask for them.
fn script(client: &Client) -> Result<Option<String>> {
    if let Some(sql) = &client.sql {
        return Ok(Some(sql.clone()));
    }
    let stdin = Path::new("-");
    let from = match &client.file {
        Some(file) => file.as_path(),
        None if std::io::stdin().is_terminal() => return Ok(None),
        None => stdin,
    };
    if from == stdin {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Fail::input(format!("standard input: {error}")))?;
        return Ok(Some(text));
    }
    std::fs::read_to_string(from)
        .map(Some)
        .map_err(|error| Fail::input(format!("{}: {error}", from.display())))
}
