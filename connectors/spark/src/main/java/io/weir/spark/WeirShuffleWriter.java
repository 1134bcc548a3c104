// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** One of Spark's writers; its output is published when it has committed. */
final class WeirShuffleWriter<K, V> extends ShuffleWriter<K, V> {
  private final ShuffleWriter<K, V> writer;
  private final Publisher publisher;

  /** Publishes an output, and says so in its status. */
  interface Publisher {
    void publish(MapStatus status, long[] lengths);
  }

  WeirShuffleWriter(ShuffleWriter<K, V> writer, Publisher publisher) {
    this.writer = writer;
    this.publisher = publisher;
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    writer.write(records);
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    Option<MapStatus> status = writer.stop(success);
    if (success && status.isDefined()) {
      publisher.publish(status.get(), writer.getPartitionLengths());
    }
    return status;
  }

  @Override
  public long[] getPartitionLengths() {
    return writer.getPartitionLengths();
  }
}
