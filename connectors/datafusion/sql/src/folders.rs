// SPDX-License-Identifier: Apache-2.0
//! The files that plans of others may read: those below some folders.

use std::fmt::{self, Display};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as Location;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result,
};
use futures::StreamExt;
use futures::stream::{BoxStream, once};
use tonic::codegen::Bytes;

use crate::fail::{Fail, Result as Outcome};

/// This host's files as far as they are below the folders; to be read only.
#[derive(Debug)]
pub struct Folders {
    all: LocalFileSystem,
    given: Vec<PathBuf>, // absolute
    real: Vec<PathBuf>,  // without symbolic links
}

impl Folders {
    pub fn new(folders: &[PathBuf]) -> Outcome<Self> {
        let all = LocalFileSystem::new();
        let mut new = Self { all, given: Vec::new(), real: Vec::new() };
        for folder in folders {
            let failed = |error| {
                let text = format!("--data {}: {error}", folder.display());
                Fail::input(text)
            };
            new.real.push(std::fs::canonicalize(folder).map_err(failed)?);
            new.given.push(std::path::absolute(folder).map_err(failed)?);
        }
        Ok(new)
    }

    /// By its name, so that nobody learns whether there is such a file.
    fn check_name(&self, location: &Location) -> Result<()> {
        let path = self.all.path_to_filesystem(location)?;
        let mut folders = self.given.iter().chain(&self.real);
        match folders.any(|folder| path.starts_with(folder)) {
            true => Ok(()),
            false => Err(denied(&path)),
        }
    }

    /// By what has been opened, wherever symbolic links led.
    fn check_file(&self, file: &File, location: &Location) -> Result<()> {
        let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        let real = std::fs::read_link(descriptor).unwrap_or_default();
        match self.real.iter().any(|folder| real.starts_with(folder)) {
            true => Ok(()),
            false => Err(denied(&self.all.path_to_filesystem(location)?)),
        }
    }

    async fn open(
        &self,
        location: &Location,
        options: GetOptions,
    ) -> Result<GetResult> {
        self.check_name(location)?;
        let found = self.all.get_opts(location, options).await?;
        match &found.payload {
            GetResultPayload::File(file, _) => {
                self.check_file(file, location)?;
                Ok(found)
            }
            GetResultPayload::Stream(_) => Err(refused("read as a stream")),
        }
    }
}

fn denied(path: &Path) -> Error {
    let path = path.display().to_string();
    let text = "this worker may not read it (worker --data)";
    Error::PermissionDenied { path, source: text.into() }
}

fn refused(what: &str) -> Error {
    let text = format!("plans may not {what} here");
    Error::Generic { store: "files", source: text.into() }
}

impl Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "files below {:?}", self.real)
    }
}

#[async_trait]
impl ObjectStore for Folders {
    async fn get_opts(
        &self,
        location: &Location,
        options: GetOptions,
    ) -> Result<GetResult> {
        self.open(location, options).await
    }

    async fn get_ranges(
        &self,
        location: &Location,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let found = self.open(location, GetOptions::default()).await?;
        let GetResultPayload::File(file, _) = found.payload else {
            return Err(refused("read as a stream"));
        };
        let ranges = ranges.to_vec();
        let read = move || {
            let each = ranges.into_iter().map(|range| {
                let n = range.end.saturating_sub(range.start) as usize;
                let mut bytes = vec![0; n];
                file.read_exact_at(&mut bytes, range.start)?;
                Ok::<_, std::io::Error>(Bytes::from(bytes))
            });
            each.collect::<std::io::Result<Vec<_>>>()
        };
        let read = tokio::task::spawn_blocking(read).await;
        let read = read.map_err(std::io::Error::other).flatten();
        read.map_err(|error| Error::Generic {
            store: "files",
            source: format!("{location}: {error}").into(),
        })
    }

    async fn put_opts(
        &self,
        _: &Location,
        _: PutPayload,
        _: PutOptions,
    ) -> Result<PutResult> {
        Err(refused("write"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Location,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(refused("write"))
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        once(async { Err(refused("delete")) }).boxed()
    }

    /// Clients find files by themselves.
    fn list(
        &self,
        _: Option<&Location>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        once(async { Err(refused("list folders")) }).boxed()
    }

    async fn list_with_delimiter(
        &self,
        _: Option<&Location>,
    ) -> Result<ListResult> {
        Err(refused("list folders"))
    }

    async fn copy_opts(
        &self,
        _: &Location,
        _: &Location,
        _: CopyOptions,
    ) -> Result<()> {
        Err(refused("write"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::ObjectStoreExt;

    #[tokio::test]
    async fn nothing_outside_of_the_folders_is_read_or_written() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("in")).unwrap();
        std::fs::write(at("in/a"), "inside").unwrap();
        std::fs::write(at("b"), "outside").unwrap();
        std::os::unix::fs::symlink(at("b"), at("in/link")).unwrap();
        std::os::unix::fs::symlink(at("in"), at("also")).unwrap();
        let folders = Folders::new(&[at("also")]).unwrap();
        let location = |name| Location::from_absolute_path(at(name)).unwrap();
        for name in ["in/a", "also/a"] {
            let got = folders.get(&location(name)).await.unwrap();
            assert_eq!(got.bytes().await.unwrap().as_ref(), b"inside");
            let got = folders.get_ranges(&location(name), &[2..4, 0..1]).await;
            let got = got.unwrap();
            assert_eq!((&got[0][..], &got[1][..]), (&b"si"[..], &b"i"[..]));
        }
        for name in ["b", "nothing", "in/link"] {
            let error = folders.get(&location(name)).await.unwrap_err();
            let denied = matches!(error, Error::PermissionDenied { .. });
            assert!(denied, "{name}: {error}");
            let some = folders.get_ranges(&location(name), &[0..1]).await;
            assert!(some.is_err(), "{name}");
        }
        let put = folders.put(&location("in/new"), "text".into()).await;
        assert!(put.is_err() && !at("in/new").exists());
        assert!(folders.delete(&location("in/a")).await.is_err());
        assert!(at("in/a").exists());
    }
}
