// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.reflect.ClassTag;

/** Has the files of {@link Transfer}, for Spark's client and for ours. */
final class Server implements BlockDataManager {
  private final String dir;
  private final TransportConf conf;

  private Server(String dir, TransportConf conf) {
    this.dir = dir;
    this.conf = conf;
  }

  static NettyBlockTransferService netty(String executor, String dir) {
    SparkConf conf = new SparkConf(false).set("spark.app.id", "transfer");
    SecurityManager security = new SecurityManager(
            conf, Option.empty(), SecurityManager.$lessinit$greater$default$3());
    NettyBlockTransferService service =
        new NettyBlockTransferService(
            conf,
            security,
            new SerializerManager(new JavaSerializer(conf), conf),
            "127.0.0.1",
            "127.0.0.1",
            0,
            2,
            null);
    service.init(
        new Server(
            dir, SparkTransportConf.fromSparkConf(conf, "shuffle", 2, Option.<String>empty())));
    return service;
  }

  static void run(String dir) throws Exception {
    Fabric shm = new Fabric(Transfer.options("shm"), "server-shm", null, 1, null);
    Fabric tcp = new Fabric(Transfer.options("tcp"), "server-tcp", "127.0.0.1:0", 2, null);
    Random random = new Random(1);
    for (Transfer.Shape s : Transfer.SHAPES) {
      long[] lengths = new long[s.partitions];
      Arrays.fill(lengths, s.blockBytes);
      for (int map = 0; map < s.maps; map++) {
        File file = Transfer.file(dir, s, map);
        fill(file, random, (long) s.partitions * s.blockBytes);
        shm.outputs.publish(s.shuffleId, map, lengths, file);
        tcp.outputs.publish(s.shuffleId, map, lengths, file);
      }
    }
    System.out.println(netty("server", dir).port());
    System.out.println(shm.topology(null));
    System.out.println(tcp.topology(null));
    while (System.in.read() >= 0) {
      continue;
    }
    System.exit(0);
  }

  private static void fill(File file, Random random, long bytes) throws IOException {
    byte[] some = new byte[1 << 16];
    try (OutputStream out = new FileOutputStream(file)) {
      for (long left = bytes; left > 0; left -= some.length) {
        random.nextBytes(some);
        out.write(some, 0, (int) Math.min(left, some.length));
      }
    }
  }

  /** As Spark has it, but for the index, which is not read from a file each time. */
  @Override
  public ManagedBuffer getLocalBlockData(BlockId id) {
    ShuffleBlockId b = (ShuffleBlockId) id;
    Transfer.Shape s = Transfer.shape(b.shuffleId());
    return new FileSegmentManagedBuffer(
        conf,
        Transfer.file(dir, s, (int) b.mapId()),
        (long) b.reduceId() * s.blockBytes,
        s.blockBytes);
  }

  @Override
  public String[] getLocalDiskDirs() {
    return new String[0];
  }

  @Override
  public ManagedBuffer getHostLocalShuffleData(BlockId id, String[] dirs) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean putBlockData(BlockId id, ManagedBuffer data, StorageLevel level, ClassTag<?> tag) {
    throw new UnsupportedOperationException();
  }

  @Override
  public StreamCallbackWithID putBlockDataAsStream(
      BlockId id, StorageLevel level, ClassTag<?> tag) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void releaseLock(BlockId id, Option<TaskContext> task) {}

  @Override
  public Cause diagnoseShuffleBlockCorruption(BlockId id, long checksum, String algorithm) {
    throw new UnsupportedOperationException();
  }
}
