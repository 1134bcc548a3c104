// SPDX-License-Identifier: Apache-2.0
//! EXPLAIN and EXPLAIN ANALYZE: stages, and what went between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{Metric, MetricValue};
use datafusion_distributed::{
    DISTRIBUTED_DATAFUSION_TASK_ID_LABEL, DistributedMetricsFormat,
    NetworkBoundaryExt, display_plan_ascii,
    rewrite_distributed_plan_with_metrics,
};

/// How a query would run.
pub fn plan(plan: &dyn ExecutionPlan) -> String {
    display_plan_ascii(plan, false)
}

/// How a query has run: its stages with their metrics, and a table of the
/// exchanges between them. Waits for what the workers tell.
pub async fn analyzed(plan: Arc<dyn ExecutionPlan>) -> Result<String> {
    let all = DistributedMetricsFormat::Aggregated;
    let told = rewrite_distributed_plan_with_metrics(plan.clone(), all).await?;
    let mut text = display_plan_ascii(told.as_ref(), true);
    let each = DistributedMetricsFormat::PerTask;
    let told = rewrite_distributed_plan_with_metrics(plan, each).await?;
    let mut exchanges = Vec::new();
    collect(&told, 1, &mut exchanges);
    if exchanges.is_empty() {
        text += "\nno exchange: all of it ran in this process\n";
        return Ok(text);
    }
    exchanges.sort_by_key(|exchange| exchange.stage);
    text += &table(&exchanges);
    Ok(text)
}

/// What went from one stage to the next.
struct Exchange {
    stage: usize,
    kind: String,
    producers: usize,
    consumers: usize,
    rows: BTreeMap<(u64, usize), usize>, // by consumer's task and partition
    bytes: BTreeMap<String, usize>,      // by what they went over
    local: usize,                        // producers that were called
    read: Wait,
    write: Wait,
}

/// The longest of some times; gRPC tells none.
#[derive(Default)]
struct Wait(Option<Duration>);

impl Wait {
    fn add(&mut self, nanoseconds: usize) {
        let time = Duration::from_nanos(nanoseconds as u64);
        self.0 = self.0.max(Some(time));
    }

    fn text(&self) -> String {
        self.0.map_or("-".into(), time_text)
    }
}

fn collect(
    plan: &Arc<dyn ExecutionPlan>,
    tasks: usize,
    exchanges: &mut Vec<Exchange>,
) {
    let mut below = tasks;
    if let Some(boundary) = plan.as_network_boundary() {
        let stage = boundary.input_stage();
        below = stage.task_count();
        let mut exchange = Exchange {
            stage: stage.num(),
            kind: kind(plan.name()),
            producers: below,
            consumers: tasks,
            rows: BTreeMap::new(),
            bytes: BTreeMap::new(),
            local: 0,
            read: Wait::default(),
            write: Wait::default(),
        };
        for metric in plan.metrics().unwrap_or_default().iter() {
            exchange.add(metric);
        }
        exchanges.push(exchange);
    }
    for child in plan.children() {
        collect(child, below, exchanges);
    }
}

/// `NetworkShuffleExec` is a shuffle.
fn kind(name: &str) -> String {
    let name = name.trim_start_matches("Network").trim_end_matches("Exec");
    name.to_lowercase()
}

impl Exchange {
    fn add(&mut self, metric: &Metric) {
        let value = metric.value();
        let number = value.as_usize();
        match (value, value.name()) {
            (MetricValue::OutputRows(_), _) => {
                let at = (task(metric), metric.partition().unwrap_or(0));
                *self.rows.entry(at).or_default() += number;
            }
            (_, "read_wait") => self.read.add(number),
            (_, "write_wait") => self.write.add(number),
            (_, "bytes_transferred") => self.travelled("grpc", number),
            (_, "local_connections_used") => self.local += number,
            (_, name) => {
                if let Some(over) = name.strip_prefix("bytes_over_") {
                    self.travelled(over, number);
                }
            }
        }
    }

    fn travelled(&mut self, over: &str, bytes: usize) {
        *self.bytes.entry(over.to_owned()).or_default() += bytes;
    }

    /// Rows of the partition that has most, by those of the average one.
    fn skew(&self) -> Option<f64> {
        let all = self.rows.values().sum::<usize>();
        let most = self.rows.values().max()?;
        let mean = all as f64 / self.rows.len() as f64;
        (all > 0).then(|| *most as f64 / mean)
    }

    fn over(&self) -> String {
        let mut over = self.bytes.keys().cloned().collect::<BTreeSet<_>>();
        if self.local > 0 {
            over.insert("calls".into());
        }
        over.into_iter().collect::<Vec<_>>().join(" + ")
    }

    fn cells(&self) -> [String; 9] {
        let bytes = self.bytes.values().sum::<usize>();
        [
            self.stage.to_string(),
            self.kind.clone(),
            format!("{} -> {}", self.producers, self.consumers),
            self.rows.values().sum::<usize>().to_string(),
            bytes_text(bytes),
            self.skew().map_or("-".into(), |skew| format!("{skew:.2}")),
            self.read.text(),
            self.write.text(),
            self.over(),
        ]
    }
}

/// The task of a consumer.
fn task(metric: &Metric) -> u64 {
    let is = |name| name == DISTRIBUTED_DATAFUSION_TASK_ID_LABEL;
    let label = metric.labels().iter().find(|label| is(label.name()));
    label.and_then(|label| label.value().parse().ok()).unwrap_or(0)
}

const HEAD: [&str; 9] = [
    "stage",
    "exchange",
    "tasks",
    "rows",
    "bytes",
    "skew",
    "readers wait",
    "writers wait",
    "over",
];

fn table(exchanges: &[Exchange]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(exchanges.iter().map(Exchange::cells));
    let width = |i: usize| lines.iter().map(|cells| cells[i].len()).max();
    let widths: [usize; 9] =
        std::array::from_fn(|i| width(i).unwrap_or_default());
    let mut text = String::from("\n");
    for cells in &lines {
        let mut line = String::new();
        for (i, cell) in cells.iter().enumerate() {
            let width = widths[i];
            let _ = match i {
                3..=7 => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:<width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn bytes_text(n: usize) -> String {
    let mut n = n as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if n < 1000.0 {
            let digits = if unit == "B" { 0 } else { 1 };
            return format!("{n:.digits$} {unit}");
        }
        n /= 1000.0;
    }
    format!("{n:.1} TB")
}

fn time_text(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_for_people() {
        assert_eq!(bytes_text(999), "999 B");
        assert_eq!(bytes_text(1500), "1.5 kB");
        assert_eq!(bytes_text(2_500_000_000_000), "2.5 TB");
        assert_eq!(time_text(Duration::from_micros(1250)), "1.2 ms");
    }
}
