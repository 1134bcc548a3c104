// SPDX-License-Identifier: Apache-2.0
//! Statements, one after the other, over the workers.

use std::future::Future;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{ExplainFormat, LogicalPlan};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use futures::StreamExt;
use url::Url;
use weir_datafusion::{SUBQUERY, caught};

use crate::args::Client;
use crate::cluster::{Cluster, Spill};
use crate::fail::{Fail, Result, Status};
use crate::identity::Identity;
use crate::print::Printer;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::tables::LeftOut;
use crate::{begin, explain, out, session, tables};

/// A query that failed may have failed of a worker that is lost: for so long
/// its loss is waited for.
const LOSS: Duration = Duration::from_secs(2);

/// The command, from its first statement to its last.
pub struct Program {
    pub client: Client,
    pub session: SessionContext,
    pub signals: Signals,
    workers: u16,
    cluster: Cluster,
    identity: Identity,
    urls: Arc<Mutex<Vec<Url>>>,
    spill: Spill,
    left_out: LeftOut,
}

/// What becomes of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Rows,
    Out,
    Explain,
    Analyze,
}

impl Program {
    pub async fn open(client: Client) -> Result<Self> {
        let workers = match (&client.workers, client.connect.len()) {
            (Some(workers), _) => *workers,
            (None, 0) => session::default_workers(),
            (None, n) => n as u16,
        };
        let signals = Signals::take()?;
        let spill = Spill::new();
        let urls = Arc::default();
        let identity = match client.connect.is_empty() {
            true => Identity::random()?,
            false => Identity::of(&client.common)?,
        };
        let session =
            session::open(&client, &identity, workers, &urls, &spill)?;
        let mut left_out = LeftOut::new();
        for path in &client.data {
            tables::register(&session, path, &mut left_out).await?;
        }
        if !client.quiet {
            for why in left_out.values() {
                begin::complain(&format!("weir-sql: left out: {why}"));
            }
        }
        let cluster = tokio::select! {
            cluster = Cluster::open(&client, &identity, workers, &spill) =>
                cluster?,
            fail = signals.next() => return Err(fail),
        };
        *lock(&urls) = cluster.urls();
        Ok(Self {
            client,
            session,
            signals,
            workers,
            cluster,
            identity,
            urls,
            spill,
            left_out,
        })
    }

    /// Workers anew, where one was lost.
    pub async fn mend(&mut self) -> Result<()> {
        if self.cluster.is_lost().is_none() {
            return Ok(());
        }
        let (client, identity) = (&self.client, &self.identity);
        let cluster =
            Cluster::open(client, identity, self.workers, &self.spill).await?;
        *lock(&self.urls) = cluster.urls();
        std::mem::replace(&mut self.cluster, cluster).close().await;
        Ok(())
    }

    pub async fn close(self) {
        self.cluster.close().await;
    }

    /// Statements up to the first that fails.
    pub async fn run_script(&mut self, text: &str) -> Result<()> {
        let statements = self.parse(text)?;
        let n = statements.len();
        if n == 0 {
            return Err(Fail::input("no statement"));
        }
        for (i, statement) in statements.into_iter().enumerate() {
            self.run(statement, i + 1 == n).await?;
        }
        Ok(())
    }

    /// Does a text end with the semicolon of a statement? One in a text or in a
    /// comment does not end anything.
    pub fn is_whole(text: &str) -> bool {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize();
        let tokens = tokens.unwrap_or_default(); // a quote that is open
        let last =
            tokens.iter().rfind(|token| !matches!(token, Token::Whitespace(_)));
        matches!(last, Some(Token::SemiColon))
    }

    pub fn parse(&self, text: &str) -> Result<Vec<Statement>> {
        let parser = DFParserBuilder::new(text).build();
        parser
            .and_then(|mut parser| parser.parse_statements())
            .map(Vec::from)
            .map_err(|error| Fail::refused(&error))
    }

    /// One statement; of a script, the last one.
    pub async fn run(&self, statement: Statement, last: bool) -> Result<()> {
        let ran = caught(async { Ok(self.statement(statement, last).await) });
        ran.await.map_err(|panic| Fail::ran(&panic))?
    }

    async fn statement(&self, statement: Statement, last: bool) -> Result<()> {
        let plan = self.session.state().statement_to_plan(statement).await;
        let plan = plan.map_err(|error| self.refused(&error))?;
        let (plan, mode) = self.mode(plan, last);
        let query = is_query(&plan);
        let frame = self.session.execute_logical_plan(plan).await;
        let frame = frame.map_err(|error| self.refused(&error))?;
        if !query {
            return self.command(frame).await;
        }
        match (mode, &self.client.out) {
            (Mode::Explain, _) => {
                let plan = self.physical(frame).await?;
                self.print_text(&explain::plan(plan.as_ref()))
            }
            (Mode::Analyze, _) => self.analyze(frame).await,
            (Mode::Out, Some(out)) => self.write(frame, out).await,
            _ => self.rows(frame).await,
        }
    }

    /// What the options make of a plan: EXPLAIN without anything beside it is
    /// ours, because DataFusion knows nothing of exchanges.
    fn mode(&self, plan: LogicalPlan, last: bool) -> (LogicalPlan, Mode) {
        match plan {
            LogicalPlan::Explain(explain)
                if !explain.verbose
                    && explain.explain_format == ExplainFormat::Indent
                    && is_query(&explain.plan) =>
            {
                (Arc::unwrap_or_clone(explain.plan), Mode::Explain)
            }
            LogicalPlan::Analyze(analyze) if !analyze.verbose => {
                (Arc::unwrap_or_clone(analyze.input), Mode::Analyze)
            }
            plan if self.client.explain => (plan, Mode::Explain),
            plan if self.client.analyze => (plan, Mode::Analyze),
            plan if last && self.client.out.is_some() => (plan, Mode::Out),
            plan => (plan, Mode::Rows),
        }
    }

    fn refused(&self, error: &DataFusionError) -> Fail {
        if let DataFusionError::Context(what, error) = error
            && what == SUBQUERY
        {
            return Fail::ran(error);
        }
        let mut fail = Fail::refused(error);
        let Some(name) = missing_table(&fail.text) else { return fail };
        if let Some(why) = self.left_out.get(name) {
            return why.clone();
        }
        if let Some(names) = self.table_names() {
            fail.text += &format!("; there are: {names}");
        }
        fail
    }

    fn table_names(&self) -> Option<String> {
        let catalog = self.session.catalog("datafusion")?;
        let mut names = catalog.schema("public")?.table_names();
        names.sort();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// A statement of its own kind; SET and CREATE VIEW give no rows.
    async fn command(&self, frame: DataFrame) -> Result<()> {
        if frame.schema().fields().is_empty() {
            return self.guarded(frame.collect()).await.map(drop);
        }
        self.rows(frame).await
    }

    async fn physical(
        &self,
        frame: DataFrame,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Scalar subqueries run meanwhile.
        tokio::select! {
            biased;
            fail = self.signals.next() => Err(fail),
            fail = self.cluster.lost() => Err(fail),
            plan = frame.create_physical_plan() => {
                plan.map_err(|error| self.refused(&error))
            }
        }
    }

    fn stream(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<SendableRecordBatchStream> {
        execute_stream(plan.clone(), self.session.task_ctx())
            .map_err(|error| Fail::ran(&error))
    }

    /// Print rows as they come.
    async fn rows(&self, frame: DataFrame) -> Result<()> {
        let begun = Instant::now();
        let plan = self.physical(frame).await?;
        let mut stream = self.stream(&plan)?;
        let mut printer = Printer::new(&self.client, stream.schema())?;
        let progress = Progress::new(&self.client);
        let mut n_rows = 0;
        while let Some(batch) = self.next(&mut stream, &progress).await? {
            n_rows += batch.num_rows();
            progress.rows(n_rows);
            printer.write(&batch, &progress)?;
        }
        drop(progress);
        printer.finish()?;
        self.note(&format!("{} in {:.3?}", rows_text(n_rows), begun.elapsed()));
        Ok(())
    }

    async fn next(
        &self,
        stream: &mut SendableRecordBatchStream,
        progress: &Progress,
    ) -> Result<Option<datafusion::arrow::array::RecordBatch>> {
        let next = async { stream.next().await.transpose() };
        self.guarded(progress.during(next)).await
    }

    async fn write(
        &self,
        frame: DataFrame,
        out: &std::path::Path,
    ) -> Result<()> {
        let begun = Instant::now();
        let progress = Progress::new(&self.client);
        let file = out::File::new(out);
        let plan = self.physical(frame).await?;
        let plan = file.sink(&self.session, plan).await;
        let plan = plan.map_err(|error| Fail::ran(&error))?;
        let mut stream = self.stream(&plan)?;
        let mut n_rows = 0;
        while let Some(batch) = self.next(&mut stream, &progress).await? {
            n_rows += out::count(&batch);
        }
        drop(progress);
        file.keep()?;
        let (n, out) = (rows_text(n_rows), out.display());
        self.note(&format!("{n} to {out} in {:.3?}", begun.elapsed()));
        Ok(())
    }

    /// Run a query, and print how it went.
    async fn analyze(&self, frame: DataFrame) -> Result<()> {
        let begun = Instant::now();
        let plan = self.physical(frame).await?;
        let mut stream = self.stream(&plan)?;
        let progress = Progress::new(&self.client);
        let mut n_rows = 0;
        while let Some(batch) = self.next(&mut stream, &progress).await? {
            n_rows += batch.num_rows();
            progress.rows(n_rows);
        }
        drop(stream);
        let took = begun.elapsed();
        drop(progress);
        let text = self.guarded(explain::analyzed(plan)).await?;
        let n = rows_text(n_rows);
        self.print_text(&format!("{text}\n{n} in {took:.3?}\n"))
    }

    pub fn print_text(&self, text: &str) -> Result<()> {
        begin::print(text).map_err(|error| Fail::stdout(&error))
    }

    /// Something to know, for a person who looks on.
    pub fn note(&self, text: &str) {
        if !self.client.quiet && std::io::stderr().is_terminal() {
            begin::complain(text);
        }
    }

    /// What runs, unless a worker is lost or a signal comes.
    async fn guarded<T>(
        &self,
        run: impl Future<Output = Result<T, DataFusionError>>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            fail = self.signals.next() => Err(fail),
            fail = self.cluster.lost() => Err(fail),
            outcome = run => match outcome {
                Ok(value) => Ok(value),
                Err(error) => Err(self.blame(&error).await),
            },
        }
    }

    /// Is it that a worker is lost? Exchanges notice that as fast as we do.
    async fn blame(&self, error: &DataFusionError) -> Fail {
        if self.cluster.all_answer().await {
            return Fail::ran(error);
        }
        match tokio::time::timeout(LOSS, self.cluster.lost()).await {
            Ok(fail) => fail,
            Err(_) => Fail::new(Status::Lost, error.strip_backtrace()),
        }
    }
}

fn lock(urls: &Mutex<Vec<Url>>) -> std::sync::MutexGuard<'_, Vec<Url>> {
    urls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn rows_text(n: usize) -> String {
    if n == 1 { "1 row".into() } else { format!("{n} rows") }
}

/// The table of `table 'datafusion.public.t' not found`, of ours.
fn missing_table(text: &str) -> Option<&str> {
    let (_, name) = text.split_once("table 'datafusion.public.")?;
    let (name, rest) = name.rsplit_once("' not found")?;
    rest.is_empty().then_some(name)
}

/// A plan that computes rows, and does nothing else.
fn is_query(plan: &LogicalPlan) -> bool {
    !matches!(
        plan,
        LogicalPlan::Ddl(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::DescribeTable(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_a_comment_ends_nothing() {
        for text in ["SELECT 1;", "SELECT 1; -- done", "SELECT ';' ; /* ; */"] {
            assert!(Program::is_whole(text), "{text}");
        }
        for text in [
            "SELECT 1 -- first;",
            "SELECT /* a;",
            "SELECT 'a;",
            "SELECT 1",
            "-- ;",
            "SELECT 1 /* a */ -- b;\n",
        ] {
            assert!(!Program::is_whole(text), "{text}");
        }
    }

    #[test]
    fn only_a_table_that_is_missing_is_one() {
        let text =
            "Error during planning: table 'datafusion.public.a b' not found";
        assert_eq!(missing_table(text), Some("a b"));
        for text in
            ["column 'x' of table t not found", "table 'a.b.c' not found"]
        {
            assert_eq!(missing_table(text), None);
        }
    }
}
