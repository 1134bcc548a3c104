// SPDX-License-Identifier: Apache-2.0
//! Medians and ratios, as lines or as JSON.

use std::time::Duration;

use serde_json::{Value, json};

/// A case or a query: times of each contestant.
pub struct Row {
    name: String,
    times: Vec<Vec<f64>>, // s
}

impl Row {
    pub fn new(name: String, contestants: usize) -> Self {
        Self { name, times: vec![Vec::new(); contestants] }
    }

    pub fn add(&mut self, contestant: usize, time: Duration) {
        self.times[contestant].push(time.as_secs_f64());
    }

    fn median(&self, contestant: usize) -> f64 {
        let mut times = self.times[contestant].clone();
        times.sort_by(f64::total_cmp);
        let n = times.len();
        if n == 0 {
            return f64::NAN;
        }
        (times[(n - 1) / 2] + times[n / 2]) / 2.0
    }
}

pub struct Report {
    kind: &'static str,
    names: Vec<String>,
    rows: Vec<Row>,
    peaks: Vec<Option<u64>>, // bytes
    json: bool,
}

/// Ratios are of these to the others.
fn is_baseline(name: &str) -> bool {
    name.starts_with("grpc")
}

fn is_weir(name: &str) -> bool {
    matches!(name, "shm" | "tcp")
}

impl Report {
    pub fn new(kind: &'static str, names: Vec<String>, json: bool) -> Self {
        let report =
            Self { kind, names, rows: Vec::new(), peaks: Vec::new(), json };
        if !json {
            let heads = report.names.iter().map(|name| format!("{name:>10}"));
            let heads = heads.collect::<String>();
            println!("{:<18}{heads}   medians in s", report.kind);
        }
        report
    }

    /// Pairs (gRPC, Weir) that are compared.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let all = 0..self.names.len();
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
        pairs
            .filter(|(a, b)| {
                is_baseline(&self.names[*a]) && is_weir(&self.names[*b])
            })
            .collect()
    }

    fn pair_name(&self, (over, under): (usize, usize)) -> String {
        format!("{}/{}", self.names[over], self.names[under])
    }

    /// Medians over medians, added up first.
    fn ratio(&self, rows: &[&Row], (over, under): (usize, usize)) -> f64 {
        let sum = |i| rows.iter().map(|row| row.median(i)).sum::<f64>();
        sum(over) / sum(under)
    }

    pub fn add(&mut self, row: Row) {
        if !self.json {
            let medians = (0..self.names.len())
                .map(|i| format!("{:>10.4}", row.median(i)))
                .collect::<String>();
            let ratios = self.pairs().into_iter().map(|pair| {
                let ratio = self.ratio(&[&row], pair);
                format!("   {} {ratio:.2}", self.pair_name(pair))
            });
            let ratios = ratios.collect::<String>();
            println!("{:<18}{medians}{ratios}", row.name);
        }
        self.rows.push(row);
    }

    /// Most memory of the next contestant's workers, in bytes.
    pub fn memory(&mut self, peak: Option<u64>) {
        self.peaks.push(peak);
    }

    pub fn end(&self) {
        if self.json {
            println!("{}", self.object());
            return;
        }
        for (name, peak) in self.names.iter().zip(&self.peaks) {
            if let Some(peak) = peak.filter(|peak| *peak > 0) {
                println!("peak memory {name}: {} MiB", peak >> 20);
            }
        }
        let rows = self.rows.iter().collect::<Vec<_>>();
        for pair in self.pairs() {
            let name = self.pair_name(pair);
            if let Some(ratio) = self.memory_ratio(pair) {
                println!("memory {name} {ratio:.2}");
            }
            let (least, at) = self.least(pair);
            println!("least {name} {least:.2} ({at})");
            println!("{name} {:.2}", self.ratio(&rows, pair));
        }
    }

    fn memory_ratio(&self, (over, under): (usize, usize)) -> Option<f64> {
        let peak = |i: usize| self.peaks.get(i).copied().flatten();
        Some(peak(over)? as f64 / peak(under)? as f64)
    }

    /// The worst row for Weir.
    fn least(&self, pair: (usize, usize)) -> (f64, &str) {
        let ratios = self
            .rows
            .iter()
            .map(|row| (self.ratio(&[row], pair), row.name.as_str()));
        let least = ratios.min_by(|a, b| a.0.total_cmp(&b.0));
        least.unwrap_or((f64::NAN, "-"))
    }

    fn object(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let times = self.names.iter().zip(&row.times);
            let times = times
                .map(|(name, times)| (name.clone(), json!(times)))
                .collect::<serde_json::Map<_, _>>();
            json!({"name": row.name, "seconds": times})
        });
        let rows = rows.collect::<Vec<_>>();
        let all = self.rows.iter().collect::<Vec<_>>();
        let ratios = self
            .pairs()
            .into_iter()
            .map(|pair| (self.pair_name(pair), json!(self.ratio(&all, pair))))
            .collect::<serde_json::Map<_, _>>();
        let peaks = self.names.iter().zip(&self.peaks);
        let peaks = peaks
            .map(|(name, peak)| (name.clone(), json!(peak)))
            .collect::<serde_json::Map<_, _>>();
        json!({
            "bench": self.kind,
            "rows": rows,
            "peak_bytes": peaks,
            "ratios": ratios,
        })
    }
}
