// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.util.TaskCompletionListener;

/** Fetches blocks of shuffles over Weir, and all else by the client that Spark has. */
public final class WeirBlockStoreClient extends BlockStoreClient {
  private final Fabric fabric; /* null: there is none */
  private final BlockStoreClient netty;

  WeirBlockStoreClient(Fabric fabric, BlockStoreClient netty) {
    this.fabric = fabric;
    this.netty = netty;
  }

  @Override
  public void fetchBlocks(
      String host,
      int port,
      String executor,
      String[] names,
      BlockFetchingListener listener,
      DownloadFileManager files) {
    Metrics.Reason reason = null;
    Request request = null;
    if (fabric == null) {
      reason = Metrics.Reason.UNAVAILABLE;
    } else if (fabric.remote(executor) == null) {
      reason = Metrics.Reason.NO_ADDRESS;
    } else if (files != null) {
      reason = Metrics.Reason.TO_FILE;
    } else {
      request = request(host, port, executor, names, listener);
      reason = request == null ? Metrics.Reason.NOT_ORDINARY : null;
    }
    if (reason != null) {
      Metrics.ME.fallback(reason, names.length);
      netty.fetchBlocks(host, port, executor, names, listener, files);
    } else {
      fabric.fetch(request);
    }
  }

  private Request request(
      String host, int port, String executor, String[] names, BlockFetchingListener listener) {
    int shuffleId = names.length == 0 ? -1 : Request.shuffleOf(names[0]);
    Request.Block[] blocks = shuffleId < 0 ? null : Request.parse(shuffleId, names);
    if (blocks == null || !fabric.expects(shuffleId)) {
      return null;
    }
    Request r =
        new Request(
            fabric.remote(executor),
            shuffleId,
            blocks,
            listener,
            (left, why) -> netty.fetchBlocks(host, port, executor, left, listener, null));
    TaskContext task = TaskContext.get();
    if (task != null) { /* one that is killed may not release all blocks */
      task.addTaskCompletionListener((TaskCompletionListener) c -> r.end());
    }
    return r;
  }

  /* ---- as Spark has it ---- */

  @Override
  public Cause diagnoseCorruption(
      String host,
      int port,
      String executor,
      int shuffleId,
      long mapId,
      int reduceId,
      long checksum,
      String algorithm) {
    return netty.diagnoseCorruption(
        host, port, executor, shuffleId, mapId, reduceId, checksum, algorithm);
  }

  @Override
  public void getMergedBlockMeta(
      String host,
      int port,
      int shuffleId,
      int shuffleMergeId,
      int reduceId,
      MergedBlocksMetaListener listener) {
    netty.getMergedBlockMeta(host, port, shuffleId, shuffleMergeId, reduceId, listener);
  }

  @Override
  public void getHostLocalDirs(
      String host,
      int port,
      String[] executors,
      java.util.concurrent.CompletableFuture<java.util.Map<String, String[]>> found) {
    netty.getHostLocalDirs(host, port, executors, found);
  }

  /** The client below is Spark's to close. */
  @Override
  public void close() throws IOException {}
}
