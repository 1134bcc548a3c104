// SPDX-License-Identifier: Apache-2.0
//! Writes `weir-sys/src/bindings.rs` from `include/weir/*.h`; with `--check` it
//! says whether that file is what the headers give today.
//!
//!     cargo run -p weir-bindgen             after a header has changed
//!     cargo run -p weir-bindgen -- --check  exit code 1: not current
//!
//! Needs libclang, which users of the crates therefore do not.

use std::path::Path;
use std::process::ExitCode;

/// Everything of `weir/weir.h`, and the C data interface that it declares.
fn generate(root: &Path) -> Result<String, bindgen::BindgenError> {
    let include = root.join("include");
    let text = bindgen::builder()
        .header(include.join("weir/weir.h").to_string_lossy())
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_item("(weir|WEIR|Arrow|ARROW)_?.*")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .use_core()
        .ctypes_prefix("::core::ffi")
        .derive_default(true)
        .generate_comments(false)
        .layout_tests(true)
        .rust_target(bindgen::RustTarget::stable(85, 0).expect("a version"))
        .rust_edition(bindgen::RustEdition::Edition2021)
        .formatter(bindgen::Formatter::Prettyplease)
        .disable_header_comment()
        .generate()?
        .to_string();
    Ok(format!(
        "// SPDX-License-Identifier: Apache-2.0\n\
         // Written by weir-bindgen from include/weir/*.h: do not edit.\n\n\
         {text}"
    ))
}

fn main() -> ExitCode {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = here.join("../weir-sys/src/bindings.rs");
    let text = match generate(&here.join("../../..")) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("weir-bindgen: {error}");
            return ExitCode::FAILURE;
        }
    };
    if std::env::args().nth(1).as_deref() == Some("--check") {
        if std::fs::read_to_string(&file).is_ok_and(|old| old == text) {
            return ExitCode::SUCCESS;
        }
        eprintln!(
            "weir-sys/src/bindings.rs is not what include/weir/*.h give; \
             run `cargo run -p weir-bindgen` in bindings/rust and commit it"
        );
        return ExitCode::FAILURE;
    }
    if let Err(error) = std::fs::write(&file, text) {
        eprintln!("weir-bindgen: {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
