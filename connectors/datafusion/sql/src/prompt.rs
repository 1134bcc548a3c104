// SPDX-License-Identifier: Apache-2.0
//! Statements from a person: a prompt with a history.

use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::fail::{Fail, Result, Status};
use crate::run::Program;

const HELP: &str = "\
Statements end with a semicolon. SHOW TABLES; DESCRIBE t; EXPLAIN ANALYZE ...;
Ctrl-C gives up what runs, Ctrl-D or \\q ends.";

pub async fn run(program: &mut Program) -> Result<()> {
    let config = Config::builder().max_history_size(10_000);
    let config = config.map_err(Fail::failed)?.build();
    let mut editor =
        Editor::<(), FileHistory>::with_config(config).map_err(Fail::failed)?;
    let history = history();
    if let Some(file) = &history {
        let _ = editor.load_history(file); // there is none at first
    }
    program.note("\\? for help");
    let mut text = String::new();
    loop {
        let prompt = if text.is_empty() { "weir> " } else { "  ... " };
        match editor.readline(prompt) {
            Ok(line) => text = text + &line + "\n",
            Err(ReadlineError::Interrupted) => text.clear(),
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(Fail::failed(error)),
        }
        match text.trim() {
            "" => text.clear(),
            "\\q" | "exit" | "quit" => return Ok(()),
            "\\?" | "help" => {
                program.print_text(&format!("{HELP}\n"))?;
                text.clear();
            }
            whole if Program::is_whole(whole) => {
                let _ = editor.add_history_entry(whole);
                if let Some(file) = &history {
                    let _ = editor.append_history(file);
                }
                let whole = std::mem::take(&mut text);
                answer(program, &whole).await?;
            }
            _ => {}
        }
    }
}

/// What fails is said, and the prompt stays.
async fn answer(program: &mut Program, text: &str) -> Result<()> {
    program.signals.forget();
    let outcome = match program.mend().await {
        Ok(()) => program.run_script(text).await,
        Err(fail) => Err(fail),
    };
    match outcome {
        Err(fail) if fail.status == Status::Terminated => Err(fail),
        Err(fail) => {
            fail.say();
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn history() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(PathBuf::from(home).join(".weir_sql_history"))
}
