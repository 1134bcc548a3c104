// SPDX-License-Identifier: Apache-2.0
//! Finds libweir: see the crate's documentation.

use std::path::Path;
use std::process::exit;

const REMEDY: &str = "\
weir-sys: no libweir. Install it (`make install` in a checkout of Weir; then \
PKG_CONFIG_PATH=PREFIX/lib/pkgconfig), or build it and name the folder: \
WEIR_BUILD_DIR=/path/to/weir/build/release.";

fn main() {
    println!("cargo:rerun-if-env-changed=WEIR_BUILD_DIR");
    println!("cargo:rerun-if-env-changed=WEIR_STATIC");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    let found = match std::env::var_os("WEIR_BUILD_DIR") {
        Some(dir) => link_tree(Path::new(&dir)),
        None => link_installed(),
    };
    if let Err(what) = found {
        eprintln!("{REMEDY}\n{what}");
        exit(1);
    }
}

/// The static library of a build tree, and what its weir.pc says it needs.
fn link_tree(dir: &Path) -> Result<(), String> {
    let library = dir.join("libweir.a");
    let config = dir.join("weir.pc");
    if !library.is_file() {
        return Err(format!("{} is not there", library.display()));
    }
    let text = std::fs::read_to_string(&config)
        .map_err(|error| format!("{}: {error}", config.display()))?;
    println!("cargo:rerun-if-changed={}", library.display());
    println!("cargo:rerun-if-changed={}", config.display());
    println!("cargo:rustc-link-search=native={}", dir.display());
    println!("cargo:rustc-link-lib=static=weir");
    let private = text
        .lines()
        .find_map(|line| line.strip_prefix("Libs.private:"))
        .unwrap_or("");
    for word in private.split_whitespace() {
        if let Some(path) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={path}");
        } else if let Some(name) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
    Ok(())
}

fn link_installed() -> Result<(), String> {
    let fixed = std::env::var_os("WEIR_STATIC").is_some_and(|v| v != "0");
    pkg_config::Config::new()
        .range_version("0.1".."0.2")
        .statik(fixed)
        .probe("weir")
        .map(|_| ())
        .map_err(|error| error.to_string())
}
