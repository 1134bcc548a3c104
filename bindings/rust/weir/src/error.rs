// SPDX-License-Identifier: Apache-2.0
//! Errors: what went wrong, how much of the world it took along, what to do.

use std::ffi::{c_char, CStr, CString};
use std::fmt;

use weir_sys as sys;

/// What the calls of this crate give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What has to be made anew after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// This call failed; every object is as before.
    Call,
    /// The query failed on every member: drop it, retry under another id.
    Query,
    /// A peer is lost; its queries failed, others go on.
    Peer,
    /// The node failed: drop it and open another.
    Node,
}

macro_rules! kinds {
    ($($name:ident = $code:ident, $text:literal;)*) => {
        /// What went wrong. C's code of `Arg` is `WEIR_ERR_ARG`, and so on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = $text] $name,)*
            /// A code that this crate does not know: libweir is newer.
            Other(i32),
        }

        impl ErrorKind {
            pub(crate) fn of(code: sys::weir_err) -> Self {
                match code {
                    $(sys::$code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// The code as C has it.
            pub fn code(self) -> i32 {
                match self {
                    $(Self::$name => sys::$code,)*
                    Self::Other(code) => code,
                }
            }
        }
    };
}

kinds! {
    Held = WEIR_HELD, "No room beside the batches held: drop some (see [`Hold`](crate::Hold)).";
    Arg = WEIR_ERR_ARG, "Invalid argument.";
    Schema = WEIR_ERR_SCHEMA, "Schema not supported or not matching.";
    NotFound = WEIR_ERR_NOT_FOUND, "No such column, member, or object.";
    Duplicate = WEIR_ERR_DUPLICATE, "The id is already in use.";
    Budget = WEIR_ERR_BUDGET, "Memory budget too small.";
    NoMemory = WEIR_ERR_NO_MEMORY, "The system gave no memory.";
    System = WEIR_ERR_SYSTEM, "A system call failed.";
    State = WEIR_ERR_STATE, "Not allowed in this state.";
    Timeout = WEIR_ERR_TIMEOUT, "Timed out.";
    Unsupported = WEIR_ERR_UNSUPPORTED, "Not supported by this transport or build.";
    Data = WEIR_ERR_DATA, "Malformed input data.";
    Cancelled = WEIR_ERR_CANCELLED, "The query was cancelled.";
    Deadline = WEIR_ERR_DEADLINE, "The query's deadline has passed.";
    Aborted = WEIR_ERR_ABORTED, "A member closed the query before its end.";
    Mismatch = WEIR_ERR_MISMATCH, "Members disagree about a shuffle.";
    Integrity = WEIR_ERR_INTEGRITY, "Rows were lost, doubled or damaged.";
    QueryMemory = WEIR_ERR_QUERY_MEMORY, "The query's memory limit is reached.";
    QueryData = WEIR_ERR_QUERY_DATA, "A value could not be computed or read.";
    PeerLost = WEIR_ERR_PEER_LOST, "A peer is lost.";
    PeerProtocol = WEIR_ERR_PEER_PROTOCOL, "A peer broke the protocol.";
    PeerVersion = WEIR_ERR_PEER_VERSION, "A peer speaks another version.";
    PeerRefused = WEIR_ERR_PEER_REFUSED, "A peer refused the link.";
    Node = WEIR_ERR_NODE, "The node failed.";
}

impl ErrorKind {
    /// What has to be made anew after it.
    pub fn scope(self) -> Scope {
        match self.code() {
            -199..=-100 => Scope::Query,
            -299..=-200 => Scope::Peer,
            -399..=-300 => Scope::Node,
            _ => Scope::Call,
        }
    }
}

/// An error: its kind, and a message of one line with the values, the name of
/// the peer, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What has to be made anew.
    pub fn scope(&self) -> Scope {
        self.kind.scope()
    }

    /// One line for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// From a code alone, with the library's few words about it.
    pub(crate) fn of(code: sys::weir_err) -> Self {
        // SAFETY: the function takes any code and gives a static string.
        let text = unsafe { CStr::from_ptr(sys::weir_err_text(code)) };
        Self::new(ErrorKind::of(code), &*text.to_string_lossy())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        std::io::Error::other(error)
    }
}

impl From<Error> for arrow_schema::ArrowError {
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

/// A code, and the message that a call has left beside it.
fn error_with(code: sys::weir_err, err: &sys::weir_error) -> Error {
    let bytes = err.message.map(|c| c as u8);
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) if !text.is_empty() => {
            Error::new(ErrorKind::of(code), &*text.to_string_lossy())
        }
        _ => Error::of(code),
    }
}

/// Make a call that leaves its message in a `struct weir_error`.
pub(crate) fn call(
    f: impl FnOnce(*mut sys::weir_error) -> sys::weir_err,
) -> Result<()> {
    let mut err = sys::weir_error { code: 0, message: [0; 512] };
    match f(&mut err) {
        code if code < 0 => Err(error_with(code, &err)),
        _ => Ok(()),
    }
}

/// The message that a call with this code has left with its object.
pub(crate) fn left(
    code: sys::weir_err,
    f: impl FnOnce(*mut sys::weir_error) -> sys::weir_err,
) -> Error {
    let mut err = sys::weir_error { code: 0, message: [0; 512] };
    if f(&mut err) == code {
        error_with(code, &err)
    } else {
        Error::of(code)
    }
}

/// Text for C. Errors: `Arg` (a NUL in it).
pub(crate) fn c_text(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ErrorKind::Arg, format!("{what}: has a NUL in it"))
    })
}

/// NULL or the text.
pub(crate) fn ptr_or_null(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr())
}

/// # Safety
/// `text` is NULL or ends with NUL, and lives during the call.
pub(crate) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
