// SPDX-License-Identifier: Apache-2.0
//! An error of DataFusion on its way to a consumer, which gets one of the same
//! kind: who looks for `ResourcesExhausted` finds it (`find_root`).

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Result, exec_err};
use futures::FutureExt;
use prost::Message;

/// What a future gives; a panic in it is an error. What it had borrowed is as
/// the panic left it.
pub async fn caught<T>(run: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = AssertUnwindSafe(run).catch_unwind().await;
    outcome.unwrap_or_else(|panic| {
        exec_err!("a task has panicked: {}", text_of(&*panic))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no text")
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Fault {
    #[prost(enumeration = "Kind", tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    text: String,
    #[prost(string, repeated, tag = "3")]
    contexts: Vec<String>, // outermost first
}

/// What is not listed goes as an `External` with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum Kind {
    External = 0,
    NotImplemented = 1,
    Internal = 2,
    Plan = 3,
    Configuration = 4,
    Execution = 5,
    ResourcesExhausted = 6,
    ArrowNotImplemented = 7,
    ArrowCast = 8,
    ArrowCompute = 9,
    ArrowArgument = 10,
    ArrowParse = 11,
    ArrowOverflow = 12,
    ArrowDivideByZero = 13,
}

impl Fault {
    pub(crate) fn of(mut error: &DataFusionError) -> Self {
        let mut contexts = Vec::new();
        loop {
            error = match error {
                DataFusionError::Context(text, inner) => {
                    contexts.push(text.clone());
                    inner
                }
                DataFusionError::Shared(inner) => inner,
                DataFusionError::Diagnostic(_, inner) => inner,
                _ => match within(error) {
                    Some(inner) => inner,
                    None => break,
                },
            };
        }
        let (kind, text) = kind_of(error);
        Self { kind: kind.into(), text, contexts }
    }

    /// No longer than this, about: its kind, and the beginning of its text.
    pub(crate) fn cut(mut self, bytes: usize) -> Self {
        self.contexts.clear();
        let mut end = self.text.len().min(bytes);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.truncate(end);
        self
    }

    pub(crate) fn error(self) -> DataFusionError {
        let error = error_of(self.kind(), self.text);
        let contexts = self.contexts.into_iter().rev();
        contexts.fold(error, |error, context| error.context(context))
    }
}

/// An error that another one only carries.
fn within(error: &DataFusionError) -> Option<&DataFusionError> {
    let inner = match error {
        DataFusionError::External(inner) => inner,
        DataFusionError::ArrowError(arrow, _) => match arrow.as_ref() {
            ArrowError::ExternalError(inner) => inner,
            _ => return None,
        },
        _ => return None,
    };
    inner.downcast_ref()
}

fn kind_of(error: &DataFusionError) -> (Kind, String) {
    let (kind, text) = match error {
        DataFusionError::NotImplemented(text) => (Kind::NotImplemented, text),
        DataFusionError::Internal(text) => (Kind::Internal, text),
        DataFusionError::Plan(text) => (Kind::Plan, text),
        DataFusionError::Configuration(text) => (Kind::Configuration, text),
        DataFusionError::Execution(text) => (Kind::Execution, text),
        DataFusionError::ResourcesExhausted(text) => {
            (Kind::ResourcesExhausted, text)
        }
        DataFusionError::ArrowError(error, _) => return kind_of_arrow(error),
        DataFusionError::External(error) => {
            return (Kind::External, error.to_string());
        }
        other => return (Kind::External, other.to_string()),
    };
    (kind, text.clone())
}

fn kind_of_arrow(error: &ArrowError) -> (Kind, String) {
    let (kind, text) = match error {
        ArrowError::NotYetImplemented(text) => {
            (Kind::ArrowNotImplemented, text)
        }
        ArrowError::CastError(text) => (Kind::ArrowCast, text),
        ArrowError::ComputeError(text) => (Kind::ArrowCompute, text),
        ArrowError::InvalidArgumentError(text) => (Kind::ArrowArgument, text),
        ArrowError::ParseError(text) => (Kind::ArrowParse, text),
        ArrowError::ArithmeticOverflow(text) => (Kind::ArrowOverflow, text),
        ArrowError::DivideByZero => {
            return (Kind::ArrowDivideByZero, String::new());
        }
        other => return (Kind::External, other.to_string()),
    };
    (kind, text.clone())
}

fn error_of(kind: Kind, text: String) -> DataFusionError {
    let arrow = match kind {
        Kind::External => return DataFusionError::External(text.into()),
        Kind::NotImplemented => return DataFusionError::NotImplemented(text),
        Kind::Internal => return DataFusionError::Internal(text),
        Kind::Plan => return DataFusionError::Plan(text),
        Kind::Configuration => return DataFusionError::Configuration(text),
        Kind::Execution => return DataFusionError::Execution(text),
        Kind::ResourcesExhausted => {
            return DataFusionError::ResourcesExhausted(text);
        }
        Kind::ArrowNotImplemented => ArrowError::NotYetImplemented(text),
        Kind::ArrowCast => ArrowError::CastError(text),
        Kind::ArrowCompute => ArrowError::ComputeError(text),
        Kind::ArrowArgument => ArrowError::InvalidArgumentError(text),
        Kind::ArrowParse => ArrowError::ParseError(text),
        Kind::ArrowOverflow => ArrowError::ArithmeticOverflow(text),
        Kind::ArrowDivideByZero => ArrowError::DivideByZero,
    };
    arrow.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn sent(error: &DataFusionError) -> DataFusionError {
        let bytes = Fault::of(error).encode_to_vec();
        Fault::decode(bytes.as_slice()).unwrap().error()
    }

    #[test]
    fn kinds_and_texts_arrive() {
        let kinds = (0..14).map(|i| Kind::try_from(i).unwrap());
        for kind in kinds {
            let error = error_of(kind, "é: why".into());
            let error = error.context("inner").context("outer");
            let got = sent(&error);
            assert_eq!(got.to_string(), error.to_string());
            let variant = std::mem::discriminant;
            let (root, expected) = (got.find_root(), error.find_root());
            assert_eq!(variant(root), variant(expected), "{kind:?}");
        }
        assert!(Kind::try_from(14).is_err());
    }

    #[test]
    fn carried_errors_arrive() {
        let exhausted = || DataFusionError::ResourcesExhausted("all".into());
        let arrow = ArrowError::ExternalError(Box::new(exhausted()));
        for error in [
            DataFusionError::Shared(Arc::new(exhausted())),
            DataFusionError::External(Box::new(exhausted())),
            arrow.into(),
        ] {
            let got = sent(&error);
            assert!(matches!(got, DataFusionError::ResourcesExhausted(_)));
        }
        let io = DataFusionError::IoError(std::io::Error::other("disk"));
        let got = sent(&io);
        assert!(got.to_string().contains(&io.to_string()), "{got}");
    }

    #[test]
    fn long_texts_are_cut() {
        let long = DataFusionError::Plan("é".repeat(100)).context("more");
        let cut = Fault::of(&long).cut(9);
        assert!(cut.encoded_len() < 20);
        assert_eq!(cut.error().to_string(), "Error during planning: éééé");
    }
}
