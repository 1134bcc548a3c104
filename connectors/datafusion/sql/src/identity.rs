// SPDX-License-Identifier: Apache-2.0
//! Who may give a worker plans, and read its rows: who knows its secret.
//!
//! Rows go by the node of libweir, which has the proof and the encryption of
//! `weir/identity.h`; plans by gRPC, over streams of [`crate::sealed`].

use std::fmt::Write;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::args::{Common, Transport};
use crate::fail::{Fail, Result};

/// As libweir has it (`core/identity/secret.h`).
const BYTES: std::ops::RangeInclusive<usize> = 32..=256;
const MOST: usize = 2;

/// Of a process: those it proves to know, and wants proof of, the current one
/// first. None: it takes anybody.
#[derive(Clone, Default)]
pub struct Identity {
    secrets: Vec<Vec<u8>>,
    local: bool, // nothing leaves this host
}

impl Identity {
    /// Of a client and the workers that it starts.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 32];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(|error| Fail::failed(format!("/dev/urandom: {error}")))?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self { secrets: vec![text.into_bytes()], local: true })
    }

    /// The secret of a worker's client, as it comes over the pipe.
    pub fn given(line: &str) -> Result<Self> {
        let secret = line.trim_end().as_bytes().to_vec();
        match BYTES.contains(&secret.len()) {
            true => Ok(Self { secrets: vec![secret], local: true }),
            false => Err(Fail::failed("no secret from the client")),
        }
    }

    /// Of a file as libweir wants it: a line for each.
    pub fn read(file: &Path) -> Result<Self> {
        let failed = |why: &dyn std::fmt::Display| {
            Fail::input(format!("--secret-file {}: {why}", file.display()))
        };
        let mut open = std::fs::File::options();
        open.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let mut from = open.open(file).map_err(|e| failed(&e))?;
        let about = from.metadata().map_err(|e| failed(&e))?;
        if !about.is_file() {
            return Err(failed(&"not a regular file"));
        }
        // SAFETY: it only tells.
        let own = unsafe { libc::geteuid() };
        if about.uid() != 0 && about.uid() != own {
            let whose = about.uid();
            let text = format!("of uid {whose}, not of uid {own} or root");
            return Err(failed(&text));
        }
        if about.mode() & 0o027 != 0 {
            let text = "others may use it, or its group change it: chmod 600";
            return Err(failed(&text));
        }
        let mut text = Vec::new();
        let most = (MOST * (BYTES.end() + 2)) as u64;
        let read = (&mut from).take(most + 1).read_to_end(&mut text);
        read.map_err(|e| failed(&e))?;
        let lines = text.split(|byte| *byte == b'\n').map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            line.to_vec()
        });
        let secrets = lines.filter(|it| !it.is_empty()).collect::<Vec<_>>();
        if secrets.is_empty() || secrets.len() > MOST {
            return Err(failed(&"not one secret, or two, a line each"));
        }
        if !secrets.iter().all(|secret| BYTES.contains(&secret.len())) {
            let text = "a secret has 32 to 256 bytes: openssl rand -hex 32";
            return Err(failed(&text));
        }
        Ok(Self { secrets, local: false })
    }

    /// Of a command line: with a file, or of anybody.
    pub fn of(common: &Common) -> Result<Self> {
        match &common.secret_file {
            Some(file) => Self::read(file),
            None => Ok(Self::default()),
        }
    }

    /// What children are told.
    pub fn line(&self) -> Vec<u8> {
        let mut line = self.secrets.first().cloned().unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Keys of streams of plans; not what libweir makes of the same secret.
    pub fn keys(&self) -> Vec<[u8; 32]> {
        let key = |secret: &Vec<u8>| {
            let mut hash = Sha256::new();
            hash.update(b"weir-sql plans 1\0");
            hash.update(secret);
            hash.finalize().into()
        };
        self.secrets.iter().map(key).collect()
    }

    /// A node's. Where rows leave the host, they are encrypted as plans are.
    pub fn node(
        &self,
        mut node: weir::NodeBuilder,
        transport: Transport,
    ) -> weir::NodeBuilder {
        for secret in &self.secrets {
            node = node.secret(secret.clone());
        }
        let tcp = matches!(transport, Transport::Auto | Transport::Tcp);
        node.tls_psk(tcp && !self.local && !self.secrets.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_are_random_and_make_keys() {
        let (one, two) =
            (Identity::random().unwrap(), Identity::random().unwrap());
        assert_ne!(one.keys(), two.keys());
        let line = String::from_utf8(one.line()).unwrap();
        assert_eq!(Identity::given(&line).unwrap().keys(), one.keys());
        assert!(Identity::given("").is_err());
    }

    #[test]
    fn files_that_others_may_read_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let write = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).unwrap();
            Identity::read(&file).map(|it| it.keys().len())
        };
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        assert_eq!(write(&one, 0o600).ok(), Some(1));
        assert_eq!(write(&format!("{one}\n{two}\n"), 0o640).ok(), Some(2));
        for (text, mode) in [
            (one.as_str(), 0o604),
            (&one, 0o620),
            ("short", 0o600),
            ("", 0o600),
            (&format!("{one}\n{two}\n{one}\n"), 0o600),
        ] {
            assert!(write(text, mode).is_err(), "{text} {mode:o}");
        }
    }

    #[test]
    fn files_of_others_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "a".repeat(64)).unwrap();
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&file, own).unwrap();
        assert!(Identity::read(&file).is_ok());
        // Only root can give a file away.
        if std::os::unix::fs::chown(&file, Some(65533), None).is_ok() {
            let fail = Identity::read(&file).err().unwrap();
            assert!(fail.text.contains("of uid 65533"), "{fail}");
        }
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let fail = Identity::read(&pipe).err().unwrap(); // at once
        assert!(fail.text.contains("not a regular file"), "{fail}");
    }
}
