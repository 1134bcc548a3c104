// SPDX-License-Identifier: Apache-2.0
//! Lines of the library's log, to whoever takes them.

use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

use weir_sys as sys;

/// How urgent a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something may go wrong, or was done another way.
    Warn,
    /// What a node does once.
    Info,
    /// What it does all the time.
    Debug,
}

impl LogLevel {
    fn of(level: sys::weir_log_level) -> Self {
        match level {
            sys::WEIR_LOG_ERROR => Self::Error,
            sys::WEIR_LOG_WARN => Self::Warn,
            sys::WEIR_LOG_INFO => Self::Info,
            _ => Self::Debug,
        }
    }
}

pub(crate) type LogFn = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// At an address of its own, which C is given.
pub(crate) struct Logger(LogFn);

impl Logger {
    pub(crate) fn new(take: LogFn) -> Box<Self> {
        Box::new(Self(take))
    }

    /// For [`log_line`].
    pub(crate) fn arg(&self) -> *mut c_void {
        self as *const Self as *mut c_void
    }
}

pub(crate) unsafe extern "C" fn log_line(
    arg: *mut c_void,
    level: sys::weir_log_level,
    line: *const c_char,
) {
    // SAFETY: arg is the Logger that the node's Closing keeps until after
    // weir_node_close; line ends with NUL (node.h).
    let (logger, line) =
        unsafe { (&*(arg as *const Logger), CStr::from_ptr(line)) };
    let line = line.to_string_lossy();
    // A panic must not unwind into C; it has been reported by its hook.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        (logger.0)(LogLevel::of(level), &line);
    }));
}
