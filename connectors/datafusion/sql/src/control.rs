// SPDX-License-Identifier: Apache-2.0
//! Channels that plans go to workers by: gRPC over [`crate::sealed`] streams,
//! and with each plan what has been SET.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest,
    GetWorkerInfoRequest, GetWorkerInfoResponse, SetPlanRequest, WorkerChannel,
    WorkerToCoordinatorMsg,
};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use hyper_util::rt::TokioIo;
use tonic::codegen::Service;
use tonic::codegen::http::{HeaderMap, HeaderValue, Uri};
use tonic::transport::{Channel, Endpoint};
use url::{Url, form_urlencoded};

use crate::identity::Identity;
use crate::sealed::{self, Stream};

/// What has been SET, in the manner of a form.
const OPTIONS: &str = "x-weir-sql-options";

/// Bytes of memory for operators.
const MEMORY: &str = "x-weir-sql-memory";

/// Has a channel to each worker, made when it is wanted.
#[derive(Clone)]
pub struct Control {
    identity: Identity,
    channels: Arc<Mutex<HashMap<Url, Channel>>>,
}

impl Control {
    pub fn new(identity: &Identity) -> Self {
        Self { identity: identity.clone(), channels: Arc::default() }
    }
}

#[async_trait::async_trait]
impl ChannelResolver for Control {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> Result<Box<dyn WorkerChannel>> {
        let known = self.channels().get(url).cloned();
        let channel = match known {
            Some(channel) => channel,
            None => {
                let channel = connect(url, &self.identity, |it| it).await;
                let channel = channel.map_err(|error| {
                    DataFusionError::External(error)
                        .context(format!("worker {url}"))
                })?;
                self.channels().insert(url.clone(), channel.clone());
                channel
            }
        };
        let client = create_worker_client(BoxCloneSyncChannel::new(channel));
        Ok(Box::new(Telling(client)))
    }
}

impl Control {
    fn channels(&self) -> std::sync::MutexGuard<'_, HashMap<Url, Channel>> {
        self.channels.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

type Anything = Box<dyn std::error::Error + Send + Sync>;

/// A channel to a worker, connected, with options of its own.
pub async fn connect(
    url: &Url,
    identity: &Identity,
    options: impl FnOnce(Endpoint) -> Endpoint,
) -> std::result::Result<Channel, Anything> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let connector =
        Connector { at: format!("{host}:{port}"), identity: identity.clone() };
    let endpoint = Endpoint::from_shared(url.to_string())?;
    Ok(options(endpoint).connect_with_connector(connector).await?)
}

#[derive(Clone)]
struct Connector {
    at: String,
    identity: Identity,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, std::io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { at, identity } = self.clone();
        Box::pin(async move {
            sealed::connect(&at, &identity).await.map(TokioIo::new)
        })
    }
}

/// A channel that says with each plan what its client has SET.
struct Telling(Box<dyn WorkerChannel>);

#[async_trait::async_trait]
impl WorkerChannel for Telling {
    async fn coordinator_channel(
        &mut self,
        mut headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        tell(&mut headers, context)?;
        self.0
            .coordinator_channel(headers, request, messages, metrics, context)
            .await
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        self.0.execute_task(headers, request, metrics, context).await
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.0.get_worker_info(request).await
    }
}

fn tell(headers: &mut HeaderMap, context: &TaskContext) -> Result<()> {
    let options = changed(context.session_config().options());
    let mut text = form_urlencoded::Serializer::new(String::new());
    for (key, value) in &options {
        text.append_pair(key, value);
    }
    let value = HeaderValue::try_from(text.finish())
        .map_err(|error| exec_datafusion_err!("options: {error}"))?;
    headers.insert(OPTIONS, value);
    let memory = &context.runtime_env().memory_pool;
    if let MemoryLimit::Finite(bytes) = memory.memory_limit() {
        headers.insert(MEMORY, HeaderValue::from(bytes));
    }
    Ok(())
}

/// What is not as DataFusion has it.
fn changed(options: &ConfigOptions) -> Vec<(String, String)> {
    let usual = ConfigOptions::new().entries();
    let usual = usual.into_iter().map(|entry| (entry.key, entry.value));
    let usual = usual.collect::<HashMap<_, _>>();
    // Those of extensions have other names here than for SET, and go by
    // themselves.
    let changed = options.entries().into_iter().filter(|entry| {
        entry.key.starts_with("datafusion.")
            && usual.get(&entry.key) != Some(&entry.value)
    });
    changed.filter_map(|entry| Some((entry.key, entry.value?))).collect()
}

/// What a client has told with a plan.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub options: Vec<(String, String)>,
    pub memory: Option<usize>,
}

impl Told {
    pub fn of(headers: &HeaderMap) -> Self {
        let options = headers.get(OPTIONS).map(HeaderValue::as_bytes);
        let options = form_urlencoded::parse(options.unwrap_or_default());
        let memory = headers.get(MEMORY).and_then(|it| it.to_str().ok());
        Self {
            options: options.into_owned().collect(),
            memory: memory.and_then(|bytes| bytes.parse().ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    #[test]
    fn what_was_set_is_told() {
        let session = SessionContext::new();
        let told = |session: &SessionContext| {
            let mut headers = HeaderMap::new();
            tell(&mut headers, &session.task_ctx()).unwrap();
            Told::of(&headers)
        };
        assert_eq!(told(&session), Told::default());
        let state = session.state_ref();
        let key = "datafusion.execution.time_zone";
        let set = |value| {
            let mut state = state.write();
            state.config_mut().options_mut().set(key, value).unwrap();
        };
        set("+02:00 & more=1");
        let options = vec![(key.to_owned(), "+02:00 & more=1".to_owned())];
        assert_eq!(told(&session).options, options);
    }
}
