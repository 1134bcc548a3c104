// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import java.security.SecureRandom;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Spark's sort shuffle, whose map outputs reducers pull over Weir. {@code
 * spark.shuffle.manager=io.weir.spark.WeirShuffleManager}; docs/spark.md has the rest.
 *
 * <p>Writers, files and their clean-up are those of {@link SortShuffleManager}. What a map task has
 * committed is published as regions, and its status says where, in the field for the topology, so
 * that reducers need no other directory.
 */
public final class WeirShuffleManager extends SortShuffleManager {
  private static final Logger LOG = LoggerFactory.getLogger(WeirShuffleManager.class);

  private final SparkConf conf;
  private final Options options;
  private boolean tried;
  private boolean refusalTold;
  private Fabric fabric;
  private BlockStoreClient client;
  private boolean stopped;

  public WeirShuffleManager(SparkConf conf) {
    super(conf);
    this.conf = conf;
    this.options = new Options(conf);
  }

  /** The node of this executor, opened when it is first needed; null: there is none. */
  private synchronized Fabric fabric() {
    if (!tried && !stopped) {
      tried = true;
      try {
        fabric = open();
      } catch (IOException | RuntimeException e) {
        LOG.warn("Weir: all blocks come over Spark's own transfer: {}", e.getMessage());
      }
      client = new WeirBlockStoreClient(fabric, SparkEnv.get().blockManager().blockStoreClient());
    }
    return fabric;
  }

  private synchronized BlockStoreClient client() {
    fabric();
    return client;
  }

  private Fabric open() throws IOException {
    BlockManagerId self = SparkEnv.get().blockManager().blockManagerId();
    if (!options.enabled) {
      throw new IOException("spark.weir.enabled is false");
    }
    if (self.isDriver()) { /* local mode: there are no peers */
      return null;
    }
    SecureRandom random = new SecureRandom();
    long nonce = random.nextLong();
    String name = "spark-" + self.executorId() + "-" + Long.toHexString(nonce);
    String listen = options.listen;
    if (listen == null && !options.transport.equals("shm")) {
      listen = self.host() + ":0";
    }
    byte[] secret = Security.secret();
    Fabric f = new Fabric(Security.check(options, conf, secret), name, listen, nonce, secret);
    LOG.info(
        "Weir: executor {} at {}, transport {}{}, {} bytes of memory, {} in flight",
        self.executorId(),
        f.address,
        f.options.transport,
        f.options.tls ? " with TLS" : "",
        options.memoryBytes,
        options.maxBytesInFlight);
    return f;
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle,
      long mapId,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
    Fabric f = fabric();
    if (f == null) {
      return writer;
    }
    return new WeirShuffleWriter<>(
        writer, (status, lengths) -> publish(f, handle.shuffleId(), status, lengths));
  }

  private void publish(Fabric f, int shuffleId, MapStatus status, long[] lengths) {
    try {
      f.outputs.publish(
          shuffleId,
          status.mapId(),
          lengths,
          shuffleBlockResolver().getDataFile(shuffleId, status.mapId()));
    } catch (IOException e) {
      refused(e);
    }
    BlockManagerId at = status.location();
    Option<String> before = at.topologyInfo();
    status.updateLocation(
        BlockManagerId.apply(
            at.executorId(),
            at.host(),
            at.port(),
            Option.apply(f.topology(before.isDefined() ? before.get() : null))));
  }

  private synchronized void refused(IOException e) {
    Metrics.ME.add("registrationsRefused", 1);
    if (!refusalTold) {
      refusalTold = true;
      LOG.warn(
          "Weir: a map output is not published, it goes over Spark's own transfer: {}",
          e.getMessage());
    }
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle,
      int startMap,
      int endMap,
      int startPartition,
      int endPartition,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    @SuppressWarnings("unchecked")
    BaseShuffleHandle<K, Object, C> h = (BaseShuffleHandle<K, Object, C>) handle;
    Fabric f = fabric();
    if (SparkEnv.get().blockManager().blockManagerId().isDriver()
        || h.dependency().isShuffleMergeFinalizedMarked()) {
      return super.getReader(
          handle, startMap, endMap, startPartition, endPartition, context, metrics);
    }
    MapOutputTracker tracker = SparkEnv.get().mapOutputTracker();
    if (f != null) {
      f.expect(handle.shuffleId(), h.dependency().partitioner().numPartitions());
    }
    return new WeirShuffleReader<>(
        h.dependency(),
        new WeirShuffleReader.Source(
            new Addresses(
                f,
                tracker.getMapSizesByExecutorId(
                    handle.shuffleId(), startMap, endMap, startPartition, endPartition)),
            client(),
            canUseBatchFetch(startPartition, endPartition, context)),
        context,
        metrics);
  }

  @Override
  public boolean unregisterShuffle(int shuffleId) {
    Fabric f;
    synchronized (this) {
      f = fabric;
    }
    if (f != null) {
      f.forget(shuffleId);
    }
    return super.unregisterShuffle(shuffleId);
  }

  @Override
  public void stop() {
    Fabric f;
    synchronized (this) {
      stopped = true;
      f = fabric;
      fabric = null;
    }
    if (f != null) {
      f.close();
    }
    super.stop();
  }
}
