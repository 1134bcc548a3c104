// SPDX-License-Identifier: Apache-2.0
//! A worker's gRPC service that knows when a coordinator is gone: the request
//! that a task's plan came with lasts as long as the query. When it has ended,
//! however it did, nobody wants the task's rows.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion_distributed::TaskKey;
use http::Request;
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Bytes, Service};
use tonic::server::NamedService;

use crate::resolver::{PUSH, task_of_header};
use crate::source::Tasks;

/// See [`WeirChannelResolver::control`](crate::WeirChannelResolver::control).
#[derive(Clone)]
pub struct Control<S> {
    pub(crate) service: S,
    pub(crate) tasks: Arc<Tasks>,
}

impl<S: Service<Request<Body>>> Service<Request<Body>> for Control<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        let task = request.headers().get(PUSH).and_then(task_of_header);
        let Some(task) = task else { return self.service.call(request) };
        let tasks = self.tasks.clone();
        let request = request.map(|body| {
            Body::new(Lasting { body, _over: Over { tasks, task } })
        });
        self.service.call(request)
    }
}

impl<S: NamedService> NamedService for Control<S> {
    const NAME: &'static str = S::NAME;
}

/// A request's body; dropped, the query of a task is over.
struct Lasting {
    body: Body,
    _over: Over,
}

struct Over {
    tasks: Arc<Tasks>,
    task: TaskKey,
}

impl Drop for Over {
    fn drop(&mut self) {
        self.tasks.over(&self.task);
    }
}

impl http_body::Body for Lasting {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
