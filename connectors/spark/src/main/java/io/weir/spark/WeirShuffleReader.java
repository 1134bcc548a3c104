// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.InputStream;
import java.lang.reflect.Constructor;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.storage.ShuffleBlockFetcherIterator$;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/**
 * Reads partitions as Spark's reader does: its {@link ShuffleBlockFetcherIterator} decides what is
 * fetched when, checks, retries and fails; only the client is another. That class cannot be told
 * which client to take without the code around it, so the order of aggregating and sorting is
 * written out here.
 */
final class WeirShuffleReader<K, C> implements ShuffleReader<K, C> {
  /** Where from. */
  static final class Source {
    final Addresses addresses;
    final BlockStoreClient client;
    final boolean batches;

    Source(Addresses addresses, BlockStoreClient client, boolean batches) {
      this.addresses = addresses;
      this.client = client;
      this.batches = batches;
    }
  }

  private final ShuffleDependency<K, Object, C> dependency;
  private final Source source;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;

  WeirShuffleReader(
      ShuffleDependency<K, Object, C> dependency,
      Source source,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    this.dependency = dependency;
    this.source = source;
    this.context = context;
    this.metrics = metrics;
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    Iterator<Product2<Object, Object>> records =
        new InterruptibleIterator<>(context, new Records(blocks()));
    return sorted(aggregated(records));
  }

  /* ---- fetching ---- */

  /** Neighbours of one map output may come as one block. */
  private boolean inBatches(SparkConf conf) {
    boolean compressed = conf.getBoolean("spark.shuffle.compress", true);
    boolean joinable =
        !compressed
            || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                CompressionCodec$.MODULE$.createCodec(conf));
    return source.batches
        && dependency.serializer().supportsRelocationOfSerializedObjects()
        && joinable
        && !conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)
        && !conf.getBoolean("spark.io.encryption.enabled", false);
  }

  private Iterator<Tuple2<BlockId, InputStream>> blocks() {
    SparkEnv env = SparkEnv.get();
    SparkConf conf = env.conf();
    package$ c = package$.MODULE$;
    SerializerManager serializers = env.serializerManager();
    return new ShuffleBlockFetcherIterator(
            context,
            source.client,
            env.blockManager(),
            env.mapOutputTracker(),
            source.addresses,
            new AbstractFunction2<BlockId, InputStream, InputStream>() {
              @Override
              public InputStream apply(BlockId id, InputStream in) {
                return serializers.wrapStream(id, in);
              }
            },
            (Long) conf.get(c.REDUCER_MAX_SIZE_IN_FLIGHT()) * 1024 * 1024,
            (Integer) conf.get(c.REDUCER_MAX_REQS_IN_FLIGHT()),
            (Integer) conf.get(c.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
            (Long) conf.get(c.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
            (Integer) conf.get(c.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
            (Boolean) conf.get(c.SHUFFLE_DETECT_CORRUPT()),
            (Boolean) conf.get(c.SHUFFLE_DETECT_CORRUPT_MEMORY()),
            (Boolean) conf.get(c.SHUFFLE_CHECKSUM_ENABLED()),
            conf.get(c.SHUFFLE_CHECKSUM_ALGORITHM()),
            metrics,
            inBatches(conf),
            ShuffleBlockFetcherIterator$.MODULE$.$lessinit$greater$default$18())
        .toCompletionIterator();
  }

  /** Records of all blocks, counted. */
  private final class Records extends AbstractIterator<Product2<Object, Object>> {
    private final SerializerInstance serializer = dependency.serializer().newInstance();
    private final Iterator<Tuple2<BlockId, InputStream>> blocks;
    private Iterator<Tuple2<Object, Object>> block;
    private boolean over;

    Records(Iterator<Tuple2<BlockId, InputStream>> blocks) {
      this.blocks = blocks;
    }

    @Override
    public boolean hasNext() {
      while (block == null || !block.hasNext()) {
        if (!blocks.hasNext()) {
          if (!over) {
            over = true;
            context.taskMetrics().mergeShuffleReadMetrics();
          }
          return false;
        }
        block = serializer.deserializeStream(blocks.next()._2()).asKeyValueIterator();
      }
      return true;
    }

    @Override
    public Product2<Object, Object> next() {
      if (!hasNext()) {
        throw new java.util.NoSuchElementException();
      }
      metrics.incRecordsRead(1);
      return block.next();
    }
  }

  /* ---- what the dependency asks for ---- */

  @SuppressWarnings({"unchecked", "rawtypes"})
  private Iterator<Product2<K, C>> aggregated(Iterator<Product2<Object, Object>> records) {
    Option<Aggregator<K, Object, C>> aggregator = dependency.aggregator();
    if (aggregator.isEmpty()) {
      return (Iterator) records;
    }
    if (dependency.mapSideCombine()) {
      return aggregator.get().combineCombinersByKey((Iterator) records, context);
    }
    return aggregator.get().combineValuesByKey((Iterator) records, context);
  }

  @SuppressWarnings("unchecked")
  private Iterator<Product2<K, C>> sorted(Iterator<Product2<K, C>> records) {
    Iterator<Product2<K, C>> result = records;
    if (dependency.keyOrdering().isDefined()) {
      result = ((ExternalSorter<K, C, C>) sorter()).insertAllAndUpdateMetrics(records);
    }
    return result instanceof InterruptibleIterator
        ? result
        : new InterruptibleIterator<>(context, result);
  }

  /** Lines of Spark differ in what the constructor takes after the serializer. */
  private ExternalSorter<?, ?, ?> sorter() {
    Constructor<?> make = ExternalSorter.class.getConstructors()[0];
    Object[] given = {
      context, Option.empty(), Option.empty(), dependency.keyOrdering(), dependency.serializer()
    };
    Object[] all = java.util.Arrays.copyOf(given, make.getParameterCount());
    try {
      for (int i = given.length; i < all.length; i++) {
        all[i] = ExternalSorter.class.getMethod("$lessinit$greater$default$" + (i + 1)).invoke(null);
      }
      return (ExternalSorter<?, ?, ?>) make.newInstance(all);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this line of Spark has another sorter", e);
    }
  }
}
