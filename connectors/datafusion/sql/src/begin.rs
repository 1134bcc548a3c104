// SPDX-License-Identifier: Apache-2.0
//! What the process takes for granted of itself, whoever started it; the same
//! as `cli/begin.h`:
//!
//! - Descriptors 0 to 2 are open. One that was closed becomes one on which every
//!   read and write fails, so that lost rows are an error and no file or socket
//!   is taken for standard output. Rust would open `/dev/null`, and be content.
//! - No signal is blocked, and SIGCHLD has its default: ignored, it would make
//!   the kernel forget how workers ended.

use std::fs::File;
use std::io::{Result, Write};
use std::os::fd::AsFd;

/// Called before Rust's own beginning, which is before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    // SAFETY: calls of libc with valid arguments; there is no other thread yet.
    unsafe {
        for fd in libc::STDIN_FILENO..=libc::STDERR_FILENO {
            open_standard(fd);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// open(2) takes the lowest number that is free: those below are open.
unsafe fn open_standard(fd: i32) {
    // SAFETY: as above.
    unsafe {
        let errno = libc::__errno_location();
        if libc::fcntl(fd, libc::F_GETFD) >= 0 || *errno != libc::EBADF {
            return;
        }
        let wrong_way = match fd {
            libc::STDIN_FILENO => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        };
        if libc::open(c"/dev/null".as_ptr(), wrong_way) != fd {
            libc::_exit(libc::EXIT_FAILURE);
        }
    }
}

/// Standard output; Rust's own takes a closed one for one that takes all.
pub fn stdout() -> Result<File> {
    Ok(std::io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// All of a text, to standard output.
pub fn print(text: &str) -> Result<()> {
    stdout()?.write_all(text.as_bytes())
}

/// A line to standard error. If nobody can read it, nobody can be told.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
