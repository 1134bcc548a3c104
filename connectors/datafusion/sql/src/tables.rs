// SPDX-License-Identifier: Apache-2.0
//! Files and folders as tables.

use std::collections::BTreeMap;
use std::fs::{DirEntry, read_dir};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::csv;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::file_format::{FileFormat, file_compression_type};
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::prelude::SessionContext;
use url::Url;

use file_compression_type::FileCompressionType;

use crate::fail::{Fail, Result};

/// So many rows of a text tell the types of its columns.
const ROWS: usize = 1000;

/// Folders below each other that are looked into.
const DEPTH: usize = 16;

/// What a file's name says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parquet,
    Csv,
    Tsv,
    Json,
    Arrow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ending {
    kind: Kind,
    text: String, // with its dot
    packed: FileCompressionType,
}

struct Table {
    path: PathBuf,
    ending: Ending,
    folder: bool,
}

/// Tables that cannot be read, and why: whoever asks for one is told.
pub type LeftOut = BTreeMap<String, Fail>;

/// Make tables of what is at a path.
///
/// # Errors
/// There is nothing at the path that could be one.
pub async fn register(
    session: &SessionContext,
    path: &Path,
    left_out: &mut LeftOut,
) -> Result<()> {
    let path = std::fs::canonicalize(path)
        .map_err(|error| Fail::input(format!("{}: {error}", path.display())))?;
    for (name, table) in find(&path)? {
        let known = session.table_exist(TableReference::bare(name.as_str()));
        let outcome = match table {
            _ if known.unwrap_or(false) || left_out.contains_key(&name) => {
                let path = path.display();
                let text = format!("{path}: {name} is a table already");
                return Err(Fail::input(text));
            }
            Err(fail) => Err(fail),
            Ok(table) => add(session, &name, &table).await.map_err(|error| {
                let text = error.strip_backtrace();
                Fail::input(format!("{}: {text}", table.path.display()))
            }),
        };
        if let Err(fail) = outcome {
            left_out.insert(name, fail);
        }
    }
    Ok(())
}

/// By name; or why there is none of that name.
type Tables = BTreeMap<String, Result<Table>>;

fn find(path: &Path) -> Result<Tables> {
    let mut tables = BTreeMap::new();
    if path.is_file() {
        let Some(ending) = Ending::of(path) else {
            return Err(none(path, "no Parquet, CSV, JSON or Arrow file"));
        };
        put(
            &mut tables,
            Table { path: path.to_owned(), ending, folder: false },
        );
        return Ok(tables);
    }
    let entries = entries(path)?;
    if entries.iter().any(|entry| is_partition(&entry.path())) {
        add_folder(&mut tables, path);
    } else {
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                add_folder(&mut tables, &path);
            } else if let Some(ending) = Ending::of(&path) {
                put(&mut tables, Table { path, ending, folder: false });
            }
        }
    }
    match tables.is_empty() {
        true => Err(none(path, "no Parquet, CSV, JSON or Arrow file in it")),
        false => Ok(tables),
    }
}

fn none(path: &Path, what: &str) -> Fail {
    Fail::input(format!("{}: {what}", path.display()))
}

fn add_folder(tables: &mut Tables, path: &Path) {
    match ending_below(path, DEPTH) {
        Ok(None) => {}
        Ok(Some(ending)) => {
            put(tables, Table { path: path.to_owned(), ending, folder: true });
        }
        Err(fail) => {
            tables.insert(folder_name(path), Err(fail));
        }
    }
}

fn put(tables: &mut Tables, table: Table) {
    let name = table.name();
    let new = match tables.remove(&name) {
        None => Ok(table),
        Some(Ok(other)) => Err(Fail::input(format!(
            "{} and {} would both be the table {name}",
            other.path.display(),
            table.path.display()
        ))),
        Some(Err(fail)) => Err(fail),
    };
    tables.insert(name, new);
}

fn folder_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Sorted; without what is hidden, or another program's state (`_SUCCESS`).
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let failed = |error| Fail::input(format!("{}: {error}", folder.display()));
    let mut entries = read_dir(folder)
        .map_err(failed)?
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed)?;
    entries.retain(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !name.starts_with('.') && !name.starts_with('_')
    });
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

/// A folder of a partition: `year=2024`.
fn is_partition(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    path.is_dir() && name.to_string_lossy().contains('=')
}

/// The ending that all files below have.
fn ending_below(folder: &Path, depth: usize) -> Result<Option<Ending>> {
    let mut found: Option<Ending> = None;
    for entry in entries(folder)? {
        let path = entry.path();
        let ending = match path.is_dir() {
            true if depth == 0 => None,
            true => ending_below(&path, depth - 1)?,
            false => Ending::of(&path),
        };
        match (&found, ending) {
            (Some(one), Some(other)) if *one != other => {
                return Err(Fail::input(format!(
                    "{}: files that end with {} and with {}",
                    folder.display(),
                    one.text,
                    other.text
                )));
            }
            (None, Some(ending)) => found = Some(ending),
            _ => {}
        }
    }
    Ok(found)
}

/// In the order that DataFusion lists them.
fn first_below(
    folder: &Path,
    ending: &Ending,
    depth: usize,
) -> Option<PathBuf> {
    entries(folder).ok()?.into_iter().find_map(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true if depth == 0 => None,
            true => first_below(&path, ending, depth - 1),
            false => (Ending::of(&path)? == *ending).then_some(path),
        }
    })
}

impl Ending {
    /// Is it CSV of some kind?
    fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Csv | Kind::Tsv)
    }

    fn comma(&self) -> u8 {
        if self.kind == Kind::Tsv { b'\t' } else { b',' }
    }

    /// The columns of a CSV file. DataFusion looks for them in pieces of it, and
    /// mistakes some line ends within quotes for those of rows.
    fn columns(&self, file: &Path) -> Option<Schema> {
        let file = std::fs::File::open(file).ok()?;
        let text = self.packed.convert_read(file).ok()?;
        let format = csv::reader::Format::default()
            .with_header(true)
            .with_delimiter(self.comma());
        let columns = format.infer_schema(BufReader::new(text), Some(ROWS));
        columns.ok().map(|(schema, _)| schema)
    }

    /// The first byte of a text that is no space.
    fn first_sign(&self, file: &Path) -> Option<u8> {
        let file = std::fs::File::open(file).ok()?;
        let text = self.packed.convert_read(file).ok()?;
        let mut bytes = BufReader::new(text).bytes().map_while(|it| it.ok());
        bytes.find(|byte| !byte.is_ascii_whitespace())
    }

    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (stem, last) = name.rsplit_once('.')?;
        let packed = match last.to_ascii_lowercase().as_str() {
            "gz" => FileCompressionType::GZIP,
            "bz2" => FileCompressionType::BZIP2,
            "xz" => FileCompressionType::XZ,
            "zst" => FileCompressionType::ZSTD,
            _ => FileCompressionType::UNCOMPRESSED,
        };
        let is_packed = packed != FileCompressionType::UNCOMPRESSED;
        let (stem, kind) = match is_packed {
            true => stem.rsplit_once('.')?,
            false => (stem, last),
        };
        let kind = match kind.to_ascii_lowercase().as_str() {
            "parquet" if !is_packed => Kind::Parquet,
            "arrow" | "feather" | "ipc" if !is_packed => Kind::Arrow,
            "csv" => Kind::Csv,
            "tsv" => Kind::Tsv,
            "json" | "jsonl" | "ndjson" => Kind::Json,
            _ => return None,
        };
        let text = name[stem.len()..].to_owned();
        (!stem.is_empty()).then_some(Self { kind, text, packed })
    }

    /// Of JSON: is each file one array?
    fn format(
        &self,
        session: &SessionContext,
        array: bool,
    ) -> Arc<dyn FileFormat> {
        let options = session.state().default_table_options();
        match self.kind {
            Kind::Parquet => {
                let format = ParquetFormat::default();
                Arc::new(format.with_options(options.parquet))
            }
            Kind::Csv | Kind::Tsv => {
                let format = CsvFormat::default().with_options(options.csv);
                Arc::new(
                    format
                        .with_has_header(true)
                        .with_delimiter(self.comma())
                        .with_file_compression_type(self.packed),
                )
            }
            Kind::Json => {
                let format = JsonFormat::default().with_options(options.json);
                let format = format.with_newline_delimited(!array);
                Arc::new(format.with_file_compression_type(self.packed))
            }
            Kind::Arrow => Arc::new(ArrowFormat),
        }
    }
}

impl Table {
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        match self.folder {
            true => name.into_owned(),
            false => name[..name.len() - self.ending.text.len()].to_owned(),
        }
    }

    fn first(&self) -> Option<PathBuf> {
        match self.folder {
            true => first_below(&self.path, &self.ending, DEPTH),
            false => Some(self.path.clone()),
        }
    }

    /// The first file tells of all.
    fn is_array(&self) -> bool {
        let sign = |file: PathBuf| self.ending.first_sign(&file);
        self.ending.kind == Kind::Json
            && self.first().and_then(sign) == Some(b'[')
    }

    fn url(&self) -> datafusion::common::Result<ListingTableUrl> {
        let url = match self.folder {
            true => Url::from_directory_path(&self.path),
            false => Url::from_file_path(&self.path),
        };
        let url = url.expect("the path is absolute");
        ListingTableUrl::try_new(url, None)
    }
}

async fn add(
    session: &SessionContext,
    name: &str,
    table: &Table,
) -> datafusion::common::Result<()> {
    let state = session.state();
    let format = table.ending.format(session, table.is_array());
    let options =
        ListingOptions::new(format).with_file_extension(&table.ending.text);
    let mut config =
        ListingTableConfig::new(table.url()?).with_listing_options(options);
    if table.folder {
        config = config.infer_partitions_from_path(&state).await?;
    }
    let config = match (config.clone().infer_schema(&state).await, table) {
        (Err(error), Table { ending, .. }) if ending.is_text() => {
            let schema = table.first().and_then(|file| ending.columns(&file));
            config.with_schema(Arc::new(schema.ok_or(error)?))
        }
        (config, _) => config?,
    };
    let cache = session.runtime_env().cache_manager.get_file_statistic_cache();
    let table = ListingTable::try_new(config)?.with_cache(cache);
    session.register_table(TableReference::bare(name), Arc::new(table))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(name: &str) -> Option<(Kind, String)> {
        Ending::of(Path::new(name)).map(|it| (it.kind, it.text))
    }

    #[test]
    fn endings() {
        let is = |kind, text: &str| Some((kind, text.to_owned()));
        assert_eq!(ending("a.parquet"), is(Kind::Parquet, ".parquet"));
        assert_eq!(ending("a.b.CSV"), is(Kind::Csv, ".CSV"));
        assert_eq!(ending("a.csv.gz"), is(Kind::Csv, ".csv.gz"));
        assert_eq!(ending("a.ndjson"), is(Kind::Json, ".ndjson"));
        assert_eq!(ending("a.feather"), is(Kind::Arrow, ".feather"));
        for name in ["a", "a.txt", ".csv", "a.parquet.gz", "csv"] {
            assert_eq!(ending(name), None, "{name}");
        }
    }
}
