// SPDX-License-Identifier: Apache-2.0
//! Results as rows of cells, and how two of them are compared.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int64Type,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    /// Digits, and how many of them are behind the point.
    Exact(i128, i8),
    Float(f64),
    Text(String),
}

pub type Rows = Vec<Vec<Cell>>;

/// Sums of floats depend on the order of their terms.
const FLOATS: f64 = 1e-9;

/// DuckDB computes means and quotients of decimals as floats, DataFusion as
/// decimals of few digits.
const ENGINES: f64 = 1e-6;

impl Cell {
    fn float(&self) -> Option<f64> {
        match self {
            Self::Exact(digits, scale) => {
                Some(*digits as f64 / 10f64.powi((*scale).into()))
            }
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Of a column of one type: an order to sort rows by.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (a, b) => a.float().unwrap().total_cmp(&b.float().unwrap()),
        }
    }

    /// Floats may differ a little, all else not at all.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Exact(a, i), Self::Exact(b, j)) => {
                least(*a, *i) == least(*b, *j)
            }
            (Self::Float(a), Self::Float(b)) => near(*a, *b, FLOATS, 0.0),
            (Self::Exact(_, scale), Self::Float(b)) => {
                let last = 10f64.powi(-i32::from(*scale));
                near(self.float().unwrap(), *b, ENGINES, last)
            }
            (Self::Float(_), Self::Exact(..)) => other.is(self),
            _ => false,
        }
    }
}

/// Without zeros behind the point.
fn least(mut digits: i128, mut scale: i8) -> (i128, i8) {
    while scale > 0 && digits % 10 == 0 {
        digits /= 10;
        scale -= 1;
    }
    (digits, scale)
}

fn near(a: f64, b: f64, relative: f64, absolute: f64) -> bool {
    let most = absolute.max(relative * a.abs().max(b.abs()));
    a == b || (a - b).abs() <= most || (a.is_nan() && b.is_nan())
}

/// The rows of a result, in its order.
pub fn rows(batches: &[RecordBatch]) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(cells).collect::<Vec<_>>();
        for i in 0..batch.num_rows() {
            rows.push(columns.iter().map(|c| c[i].clone()).collect());
        }
    }
    rows
}

fn cells(column: &ArrayRef) -> Vec<Cell> {
    let cell: Box<dyn Fn(usize) -> Cell> = match column.data_type() {
        DataType::Decimal128(_, scale) => {
            let digits = column.as_primitive::<Decimal128Type>().clone();
            let scale = *scale;
            Box::new(move |i| Cell::Exact(digits.value(i), scale))
        }
        integer if integer.is_integer() => {
            let values = cast(column, &DataType::Int64).unwrap();
            let values = values.as_primitive::<Int64Type>().clone();
            Box::new(move |i| Cell::Exact(values.value(i).into(), 0))
        }
        float if float.is_floating() => {
            let values = cast(column, &DataType::Float64).unwrap();
            let values = values.as_primitive::<Float64Type>().clone();
            Box::new(move |i| Cell::Float(values.value(i)))
        }
        _ => {
            let options = FormatOptions::default();
            let text = ArrayFormatter::try_new(column, &options).unwrap();
            let texts = (0..column.len()).map(|i| text.value(i).to_string());
            let texts = texts.collect::<Vec<_>>();
            Box::new(move |i| Cell::Text(texts[i].clone()))
        }
    };
    let values = 0..column.len();
    values
        .map(|i| if column.is_null(i) { Cell::Null } else { cell(i) })
        .collect()
}

/// An answer of DuckDB as `tpc.py` writes it.
pub fn parse(text: &str) -> Rows {
    let mut lines = text.lines();
    let types = lines.next().unwrap().split('\t').collect::<Vec<_>>();
    let row = |line: &str| {
        let cells = line.split('\t').zip(&types);
        cells.map(|(text, type_)| parse_cell(text, type_)).collect()
    };
    lines.map(row).collect()
}

fn parse_cell(text: &str, type_: &str) -> Cell {
    let number = type_.ends_with("INT") || type_ == "INTEGER";
    if text == "\\N" {
        Cell::Null
    } else if number || type_.starts_with("DECIMAL") {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{rest}").parse().unwrap();
        Cell::Exact(digits, rest.len() as i8)
    } else if type_ == "DOUBLE" {
        Cell::Float(text.parse().unwrap())
    } else {
        assert!(["VARCHAR", "DATE"].contains(&type_), "type {type_}");
        Cell::Text(text.to_owned())
    }
}

/// The rows in an order of their own.
pub fn sorted(mut rows: Rows) -> Rows {
    rows.sort_by(|a, b| {
        let mut cells = a.iter().zip(b).map(|(a, b)| a.order(b));
        cells.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    });
    rows
}

/// Row by row the same, or else the first that is not.
pub fn compare(got: &Rows, expected: &Rows) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!("{} rows, not {}", got.len(), expected.len()));
    }
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        let same = a.iter().zip(b).all(|(a, b)| a.is(b));
        if a.len() != b.len() || !same {
            return Err(format!("row {i} is {a:?}, not {b:?}"));
        }
    }
    Ok(())
}

#[test]
fn differences_are_found() {
    let row = |digits, float, text: &str| {
        let text = Cell::Text(text.to_owned());
        vec![Cell::Exact(digits, 2), Cell::Float(float), Cell::Null, text]
    };
    let rows = vec![row(1230, 1.0, "a"), row(7, 2.0, "b")];
    assert_eq!(compare(&rows, &rows), Ok(()));
    let nearly = vec![row(1230, 1.0 + 1e-12, "a"), rows[1].clone()];
    assert_eq!(compare(&nearly, &rows), Ok(()));
    for other in
        [row(1231, 1.0, "a"), row(1230, 1.0001, "a"), row(1230, 1.0, "A")]
    {
        let other = vec![other, rows[1].clone()];
        assert!(compare(&other, &rows).is_err(), "{other:?}");
    }
    let turned = vec![rows[1].clone(), rows[0].clone()];
    assert!(compare(&turned, &rows).is_err());
    assert_eq!(compare(&sorted(turned), &sorted(rows.clone())), Ok(()));
    assert!(compare(&rows[..1].to_vec(), &rows).is_err());
    let text = "DECIMAL(4,2)\tDOUBLE\tDATE\tVARCHAR\n\
                12.30\t1.0\t\\N\ta\n0.07\t2.0\t\\N\tb\n";
    assert_eq!(compare(&parse(text), &rows), Ok(()));
}
