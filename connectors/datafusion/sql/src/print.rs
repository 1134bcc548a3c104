// SPDX-License-Identifier: Apache-2.0
//! Rows on standard output.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::{ArrayWriter, LineDelimitedWriter};
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;

use crate::args::{Client, Format};
use crate::begin;
use crate::fail::{Fail, Result, Status};
use crate::progress::Progress;

/// So many rows of a table are printed where a person reads them.
const ROWS: usize = 1000;

pub struct Printer {
    schema: SchemaRef,
    rows: Rows,
    begun: bool,
    gone: Arc<Gone>,
}

/// What became of standard output, of which others make a text.
#[derive(Default)]
struct Gone {
    closed: AtomicBool, // its reader has closed it
    failed: AtomicBool,
}

enum Rows {
    Table { batches: Vec<RecordBatch>, room: usize, n: usize, out: Out },
    Csv(csv::Writer<Out>),
    Json(ArrayWriter<Out>),
    Lines(LineDelimitedWriter<Out>),
}

struct Out {
    to: BufWriter<File>,
    gone: Arc<Gone>,
}

impl Out {
    fn look<T>(&self, outcome: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(error) = &outcome {
            let how = match error.kind() {
                std::io::ErrorKind::BrokenPipe => &self.gone.closed,
                _ => &self.gone.failed,
            };
            how.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let outcome = self.to.write(bytes);
        self.look(outcome)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let outcome = self.to.flush();
        self.look(outcome)
    }
}

impl Printer {
    pub fn new(client: &Client, schema: SchemaRef) -> Result<Self> {
        let stdout = begin::stdout().map_err(|error| Fail::stdout(&error))?;
        let gone = Arc::<Gone>::default();
        let all = !stdout.is_terminal();
        let out = Out { to: BufWriter::new(stdout), gone: gone.clone() };
        let delimited = |comma, out| {
            let builder = csv::WriterBuilder::new().with_delimiter(comma);
            Rows::Csv(builder.build(out))
        };
        let rows = match client.format {
            Format::Table => {
                let room = if all { usize::MAX } else { ROWS };
                Rows::Table { batches: Vec::new(), room, n: 0, out }
            }
            Format::Csv => delimited(b',', out),
            Format::Tsv => delimited(b'\t', out),
            Format::Json => Rows::Json(ArrayWriter::new(out)),
            Format::Ndjson => Rows::Lines(LineDelimitedWriter::new(out)),
        };
        Ok(Self { schema, rows, begun: false, gone })
    }

    pub fn write(
        &mut self,
        batch: &RecordBatch,
        progress: &Progress,
    ) -> Result<()> {
        self.begun = true;
        if !matches!(self.rows, Rows::Table { .. }) {
            progress.hide();
        }
        let outcome = self.rows.write(batch);
        outcome.map_err(|error| self.fail(&error))
    }

    pub fn finish(mut self) -> Result<()> {
        let outcome = self.rows.finish(&self.schema, self.begun);
        outcome.map_err(|error| self.fail(&error))
    }

    fn fail(&self, error: &ArrowError) -> Fail {
        if self.gone.closed.load(Ordering::Relaxed) {
            return Fail::new(Status::Closed, "");
        }
        match self.gone.failed.load(Ordering::Relaxed) {
            true => Fail::failed(format!("standard output: {error}")),
            false => Fail::failed(error),
        }
    }
}

impl Rows {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Self::Table { batches, room, n, .. } => {
                let some = batch.num_rows().min(*room - (*n).min(*room));
                if some > 0 {
                    batches.push(batch.slice(0, some));
                }
                *n += batch.num_rows();
                Ok(())
            }
            Self::Csv(to) => to.write(batch), // and flushes
            Self::Json(to) => {
                to.write(batch)?;
                Ok(to.get_mut().flush()?)
            }
            Self::Lines(to) => {
                to.write(batch)?;
                Ok(to.get_mut().flush()?)
            }
        }
    }

    fn finish(
        &mut self,
        schema: &SchemaRef,
        begun: bool,
    ) -> Result<(), ArrowError> {
        match self {
            Self::Table { batches, room, n, out } => {
                let text =
                    pretty_format_batches_with_schema(schema.clone(), batches)?;
                writeln!(out, "{text}")?;
                if *n > *room {
                    let more = *n - *room;
                    writeln!(out, "and {more} more rows: see --format, --out")?;
                }
                out.flush()?;
            }
            Self::Csv(to) => {
                if !begun {
                    to.write(&RecordBatch::new_empty(schema.clone()))?;
                }
            }
            Self::Json(to) => {
                to.finish()?;
                writeln!(to.get_mut())?;
                to.get_mut().flush()?;
            }
            Self::Lines(to) => {
                to.finish()?;
                to.get_mut().flush()?;
            }
        }
        Ok(())
    }
}
