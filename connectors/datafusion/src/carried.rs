// SPDX-License-Identifier: Apache-2.0
//! What datafusion-proto leaves out of scans travels beside them: how a file is
//! packed, what ends its lines, and whether it is one JSON array.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{
    DataFusionError, Result, Statistics, internal_datafusion_err, internal_err,
};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    CsvSource, FileScanConfig, FileScanConfigBuilder, JsonSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};
use datafusion_proto::physical_plan::{
    DefaultPhysicalExtensionCodec, PhysicalExtensionCodec,
    PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;

/// A scan that needs more than datafusion-proto carries. On a worker it is the
/// scan itself.
#[derive(Debug)]
struct Scan(Arc<dyn ExecutionPlan>);

/// A scan, and beside it what is left out.
#[derive(Clone, PartialEq, Message)]
struct Carried {
    #[prost(message, optional, tag = "1")]
    scan: Option<PhysicalPlanNode>,
    #[prost(string, tag = "2")]
    packed: String, // as in a file's name; "": not
    #[prost(uint32, optional, tag = "3")]
    terminator: Option<u32>,
    #[prost(bool, tag = "4")]
    array: bool,
}

impl Carried {
    fn of(scan: &FileScanConfig) -> Result<Self> {
        let packed = &scan.file_compression_type;
        let source = scan.file_source();
        let csv = source.downcast_ref::<CsvSource>();
        Ok(Self {
            scan: None,
            packed: match packed.is_compressed() {
                true => packed.get_variant().to_string(),
                false => String::new(),
            },
            terminator: csv.and_then(CsvSource::terminator).map(u32::from),
            array: is_array(scan)?,
        })
    }

    fn put_back(&self, scan: &FileScanConfig) -> Result<FileScanConfig> {
        let packed = match self.packed.as_str() {
            "" => FileCompressionType::UNCOMPRESSED,
            packed => FileCompressionType::from_str(packed)?,
        };
        let mut source = scan.file_source().clone();
        if let Some(csv) = source.downcast_ref::<CsvSource>()
            && let Some(byte) = self.terminator
        {
            let csv = csv.with_terminator(u8::try_from(byte).ok());
            source = Arc::new(csv);
        } else if let Some(json) = source.downcast_ref::<JsonSource>() {
            source = Arc::new(json.clone().with_newline_delimited(!self.array));
        }
        Ok(FileScanConfigBuilder::from(scan.clone())
            .with_source(source)
            .with_file_compression_type(packed)
            .build())
    }
}

/// Is each file one JSON array? Their source does not say, but those cannot be
/// opened at some byte in their middle.
pub(crate) fn is_array(scan: &FileScanConfig) -> Result<bool> {
    let source = scan.file_source();
    if !source.is::<JsonSource>() {
        return Ok(false);
    }
    let nowhere = Arc::new(LocalFileSystem::new()); // nothing is read
    let source = source.with_batch_size(1);
    let opener = source.create_file_opener(nowhere, scan, 0)?;
    let middle = PartitionedFile::new("a.json", 2).with_range(1, 2);
    Ok(opener.open(middle).is_err())
}

/// A scan of files as a worker gets it.
pub(crate) fn scan(scan: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
    let needs = Carried::of(&scan)? != Carried::default();
    let scan = DataSourceExec::from_data_source(scan);
    Ok(if needs { Arc::new(Scan(scan)) } else { scan })
}

/// What arrives of a plan's node.
pub(crate) fn inside(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    match plan.downcast_ref::<Scan>() {
        Some(Scan(scan)) => scan,
        None => plan,
    }
}

/// Of coordinators and workers alike.
#[derive(Debug)]
pub(crate) struct Codec;

impl PhysicalExtensionCodec for Codec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        to: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(Scan(plan)) = node.downcast_ref::<Scan>() else {
            return internal_err!("{} cannot travel", node.name());
        };
        let own = DefaultPhysicalExtensionCodec {};
        let scan = converter.execution_plan_to_proto(plan, &own)?;
        let beside = Carried::of(config_of(plan)?)?;
        let carried = Carried { scan: Some(scan), ..beside };
        carried.encode(to).map_err(|e| DataFusionError::External(e.into()))
    }

    fn try_decode(
        &self,
        from: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let carried = Carried::decode(from)
            .map_err(|e| DataFusionError::External(e.into()))?;
        let Some(scan) = &carried.scan else {
            return internal_err!("a scan is missing");
        };
        let own = DefaultPhysicalExtensionCodec {};
        let context = PhysicalPlanDecodeContext::new(context, &own);
        let scan = converter.proto_to_execution_plan(scan, &context)?;
        let scan = carried.put_back(config_of(&scan)?)?;
        Ok(DataSourceExec::from_data_source(scan))
    }
}

fn config_of(plan: &Arc<dyn ExecutionPlan>) -> Result<&FileScanConfig> {
    let source = plan.downcast_ref::<DataSourceExec>();
    let source = source.and_then(|it| it.data_source().downcast_ref());
    source.ok_or_else(|| internal_datafusion_err!("no scan of files"))
}

impl DisplayAs for Scan {
    fn fmt_as(
        &self,
        how: DisplayFormatType,
        f: &mut fmt::Formatter,
    ) -> fmt::Result {
        self.0.fmt_as(how, f)
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(f)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.0.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.0.metrics()
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.0.statistics_from_inputs(inputs, args)
    }
}
