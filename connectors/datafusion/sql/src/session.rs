// SPDX-License-Identifier: Apache-2.0
//! DataFusion as a client of workers.

use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::DistributedExt;
use url::Url;
use weir_datafusion::{WholeArrays, distribute};

use crate::args::{Client, Exchange};
use crate::cluster::{Spill, Urls};
use crate::control::Control;
use crate::fail::{Fail, Result};
use crate::identity::Identity;
use crate::worker::{builder, controlled, runtime};

/// How many workers there are without --workers and --connect.
pub fn default_workers() -> u16 {
    processors().clamp(2, 8) as u16
}

fn processors() -> usize {
    available_parallelism().map_or(2, usize::from)
}

/// A session; of no workers, an ordinary one.
pub fn open(
    client: &Client,
    identity: &Identity,
    workers: u16,
    urls: &Arc<Mutex<Vec<Url>>>,
    spill: &Spill,
) -> Result<SessionContext> {
    let memory = client.common.memory;
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config(client, workers))
        .with_runtime_env(runtime(memory, Some(spill.of("client")?))?);
    if workers == 0 {
        let state = state.with_physical_optimizer_rule(Arc::new(WholeArrays));
        return Ok(SessionContext::from(state.build()));
    }
    let state = distribute(state)
        .with_distributed_worker_resolver(Urls(urls.clone()))
        .with_distributed_file_scan_config_bytes_per_partition(
            client.split as usize,
        )
        .map_err(|error| Fail::ran(&error))?;
    let state = match client.exchange {
        Exchange::Weir => {
            let node = builder(&client.common, identity).open();
            let node = node.map_err(Fail::failed)?;
            let resolver = controlled(node, identity);
            state.with_distributed_channel_resolver(resolver)
        }
        Exchange::Grpc => {
            let resolver = Control::new(identity);
            state.with_distributed_channel_resolver(resolver)
        }
    };
    Ok(SessionContext::from(state.build()))
}

fn config(client: &Client, workers: u16) -> SessionConfig {
    let share = processors().div_ceil(workers.max(1).into());
    let partitions = client.partitions.map_or(share.max(2), usize::from);
    let mut config = SessionConfig::new();
    // A line of a CSV file may end within quotes, and who starts to read in the
    // middle cannot know: such files are read whole unless somebody knows better.
    config.options_mut().catalog.newlines_in_values = true;
    config
        .with_information_schema(true)
        .with_repartition_file_min_size(client.split as usize)
        .with_target_partitions(partitions)
}
