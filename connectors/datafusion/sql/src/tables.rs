// SPDX-License-Identifier: Apache-2.0
//! Files and folders as tables.

use std::collections::BTreeMap;
use std::fs::{DirEntry, read_dir};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Make tables of what is at a path.
pub async fn register(session: &SessionContext, path: &Path) -> Result<()> {
    let path = std::fs::canonicalize(path)
        .map_err(|error| Fail::input(format!("{}: {error}", path.display())))?;
    for (name, table) in find(&path)? {
        let known = session.table_exist(TableReference::bare(name.as_str()));
        if known.unwrap_or(false) {
            let text = format!("{}: {name} is a table already", path.display());
            return Err(Fail::input(text));
        }
        add(session, &name, &table).await.map_err(|error| {
            let text = error.strip_backtrace();
            Fail::input(format!("{}: {text}", table.path.display()))
        })?;
    }
    Ok(())
}

fn find(path: &Path) -> Result<BTreeMap<String, Table>> {
    let mut tables = BTreeMap::new();
    if path.is_file() {
        let Some(ending) = Ending::of(path) else {
            return Err(none(path, "no Parquet, CSV, JSON or Arrow file"));
        };
        let table = Table { path: path.to_owned(), ending, folder: false };
        tables.insert(table.name(), table);
        return Ok(tables);
    }
    let entries = entries(path)?;
    if entries.iter().any(|entry| is_partition(&entry.path())) {
        add_folder(&mut tables, path)?;
    } else {
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                add_folder(&mut tables, &path)?;
            } else if let Some(ending) = Ending::of(&path) {
                put(&mut tables, Table { path, ending, folder: false })?;
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

fn add_folder(tables: &mut BTreeMap<String, Table>, path: &Path) -> Result<()> {
    let Some(ending) = ending_below(path, DEPTH)? else {
        return Ok(());
    };
    put(tables, Table { path: path.to_owned(), ending, folder: true })
}

fn put(tables: &mut BTreeMap<String, Table>, table: Table) -> Result<()> {
    let name = table.name();
    if let Some(other) = tables.get(&name) {
        return Err(Fail::input(format!(
            "{} and {} would both be the table {name}",
            other.path.display(),
            table.path.display()
        )));
    }
    tables.insert(name, table);
    Ok(())
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

impl Ending {
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

    fn format(&self, session: &SessionContext) -> Arc<dyn FileFormat> {
        let options = session.state().default_table_options();
        match self.kind {
            Kind::Parquet => {
                let format = ParquetFormat::default();
                Arc::new(format.with_options(options.parquet))
            }
            Kind::Csv | Kind::Tsv => {
                let comma = if self.kind == Kind::Tsv { b'\t' } else { b',' };
                let format = CsvFormat::default().with_options(options.csv);
                Arc::new(
                    format
                        .with_has_header(true)
                        .with_delimiter(comma)
                        .with_file_compression_type(self.packed),
                )
            }
            Kind::Json => {
                let format = JsonFormat::default().with_options(options.json);
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
    let options = ListingOptions::new(table.ending.format(session))
        .with_file_extension(&table.ending.text);
    let mut config =
        ListingTableConfig::new(table.url()?).with_listing_options(options);
    if table.folder {
        config = config.infer_partitions_from_path(&state).await?;
    }
    let config = config.infer_schema(&state).await?;
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
