// SPDX-License-Identifier: Apache-2.0
//! A partition's stream at the consumer.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use arrow::record_batch::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::physical_plan::metrics::Time;
use tokio::sync::mpsc;

use crate::given::{Given, Taken};

type Result<T> = std::result::Result<T, DataFusionError>;

pub(crate) enum Piece {
    Batch(Buffer, Taken),
    End,
}

/// The batch of a piece.
fn decode(
    decoder: &mut StreamDecoder,
    mut bytes: Buffer,
) -> Result<RecordBatch> {
    while !bytes.is_empty() {
        if let Some(batch) = decoder.decode(&mut bytes)? {
            return Ok(batch);
        }
    }
    // A body without bytes (no columns, or those of nulls alone): the decoder
    // makes its batch when it sees another byte, which it leaves.
    let mut more = Buffer::from_vec(vec![0_u8]);
    let batch = decoder.decode(&mut more)?;
    batch.ok_or_else(|| DataFusionError::Execution("a torn piece".into()))
}

/// Batches of one partition.
pub(crate) struct Stream {
    partition: u32,
    from: mpsc::UnboundedReceiver<Result<Piece>>,
    decoder: StreamDecoder,
    decoded: VecDeque<RecordBatch>,
    given: Arc<Given>,
    wait: Time, // for rows
    since: Option<Instant>,
    over: bool,
}

impl Stream {
    pub(crate) fn new(
        partition: u32,
        from: mpsc::UnboundedReceiver<Result<Piece>>,
        given: &Arc<Given>,
        wait: Time,
    ) -> Self {
        Self {
            partition,
            from,
            decoder: StreamDecoder::new(),
            decoded: VecDeque::new(),
            given: given.clone(),
            wait,
            since: None,
            over: false,
        }
    }

    /// It waits no more, if it has.
    fn go_on(&mut self) {
        if let Some(since) = self.since.take() {
            self.wait.add_elapsed(since);
        }
    }

    fn decode(&mut self, bytes: Buffer) -> Result<()> {
        self.decoded.push_back(decode(&mut self.decoder, bytes)?);
        Ok(())
    }

    fn take(&mut self, piece: Result<Piece>) -> Result<()> {
        match piece? {
            Piece::Batch(bytes, taken) => {
                drop(taken);
                self.decode(bytes)
            }
            Piece::End => {
                self.over = true;
                Ok(())
            }
        }
    }
}

impl futures::Stream for Stream {
    type Item = Result<RecordBatch>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.given.poll();
        loop {
            if let Some(batch) = self.decoded.pop_front() {
                return Poll::Ready(Some(Ok(batch)));
            }
            if self.over {
                return Poll::Ready(None);
            }
            let piece = match self.from.poll_recv(cx) {
                Poll::Ready(Some(piece)) => piece,
                Poll::Ready(None) => {
                    self.over = true;
                    let text = "the task that fetches rows has ended";
                    return Poll::Ready(Some(Err(DataFusionError::Execution(
                        text.into(),
                    ))));
                }
                Poll::Pending => {
                    self.since.get_or_insert_with(Instant::now);
                    return Poll::Pending;
                }
            };
            self.go_on();
            if let Err(error) = self.take(piece) {
                self.over = true;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.go_on();
        if !self.over {
            self.given.stop(self.partition);
        }
        self.given.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, NullArray, RecordBatchOptions};
    use arrow::datatypes::{DataType, Field, Schema};
    use arrow::ipc::writer::StreamEncoder;

    /// What comes of batches that are encoded one by one.
    fn sent(batches: &[RecordBatch]) -> Vec<RecordBatch> {
        let mut encoder = StreamEncoder::try_new(&batches[0].schema()).unwrap();
        let mut decoder = StreamDecoder::new();
        let send = |batch| {
            let pieces = encoder.encode(batch).unwrap();
            let pieces = pieces.iter().map(|piece| piece.as_slice());
            let bytes = pieces.collect::<Vec<_>>().concat();
            decode(&mut decoder, Buffer::from_vec(bytes)).unwrap()
        };
        batches.iter().map(send).collect()
    }

    #[test]
    fn batches_without_bytes_arrive() {
        let none = |n| {
            let options = RecordBatchOptions::new().with_row_count(Some(n));
            let schema = Arc::new(Schema::empty());
            RecordBatch::try_new_with_options(schema, vec![], &options).unwrap()
        };
        let batches = [none(7), none(0), none(9)];
        assert_eq!(sent(&batches), batches);
        let nulls = |n| {
            let field = Field::new("n", DataType::Null, true);
            let column = Arc::new(NullArray::new(n));
            RecordBatch::try_new(
                Arc::new(Schema::new(vec![field])),
                vec![column],
            )
            .unwrap()
        };
        let batches = [nulls(3), nulls(5)];
        assert_eq!(sent(&batches), batches);
        let numbers = |n| {
            let column = Arc::new(Int32Array::from_iter_values(0..n));
            RecordBatch::try_from_iter([("i", column as _)]).unwrap()
        };
        let batches = [numbers(4), numbers(0), numbers(2)];
        assert_eq!(sent(&batches), batches);
    }
}
