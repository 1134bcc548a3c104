// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.zip.CRC32C;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;

/**
 * The transfer alone: blocks of map outputs in files of another process, through fetchBlocks of
 * Spark's client and of ours, in turn. Every byte is read and summed, as it is when a block is
 * decompressed; sums are compared.
 *
 * <pre>
 *   Transfer DIR ROUNDS [SHAPE...]   starts a second process, `Transfer serve DIR`
 * </pre>
 */
public final class Transfer {
  /** A request is a range of partitions of each of some map outputs. */
  static final class Shape {
    final String name;
    final int shuffleId;
    final int maps;
    final int partitions;
    final int perMap;
    final int blockBytes;

    Shape(String name, int shuffleId, int[] n) {
      this.name = name;
      this.shuffleId = shuffleId;
      this.maps = n[0];
      this.partitions = n[1];
      this.perMap = n[2];
      this.blockBytes = n[3];
    }

    String[] request(int first) {
      String[] names = new String[maps * perMap];
      for (int i = 0; i < names.length; i++) {
        names[i] = "shuffle_" + shuffleId + "_" + i / perMap + "_" + (first + i % perMap);
      }
      return names;
    }
  }

  static final List<Shape> SHAPES =
      List.of(
          new Shape("4K", 1, new int[] {100, 100, 10, 4 << 10}),
          new Shape("4K-1000-maps", 2, new int[] {1000, 10, 1, 4 << 10}),
          new Shape("64K", 3, new int[] {64, 32, 1, 64 << 10}),
          new Shape("1M", 4, new int[] {16, 16, 1, 1 << 20}),
          new Shape("4M", 5, new int[] {8, 8, 1, 4 << 20}));

  private Transfer() {}

  static File file(String dir, Shape s, int map) {
    return new File(dir, "shuffle_" + s.shuffleId + "_" + map + "_0.data");
  }

  static Shape shape(int shuffleId) {
    return SHAPES.get(shuffleId - 1);
  }

  static Options options(String transport) {
    return new Options(new SparkConf(false).set("spark.weir.transport", transport));
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("serve")) {
      Server.run(args[1]);
      return;
    }
    String dir = args[0];
    List<String> command =
        new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
    command.addAll(
        java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), "io.weir.spark.Transfer", "serve", dir));
    Process server =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      BufferedReader in = new BufferedReader(new InputStreamReader(server.getInputStream()));
      int port = Integer.parseInt(in.readLine());
      List<String> wanted = Arrays.asList(args).subList(2, args.length);
      new Transfer.Client(port, in.readLine(), in.readLine())
          .run(Integer.parseInt(args[1]), wanted);
    } finally {
      server.getOutputStream().close();
      server.waitFor();
    }
    System.exit(0);
  }

  /** Takes blocks, in the thread that asked for them. */
  private static final class Sink implements BlockFetchingListener {
    final LinkedBlockingQueue<Object> come = new LinkedBlockingQueue<>();

    @Override
    public void onBlockFetchSuccess(String name, ManagedBuffer buffer) {
      buffer.retain();
      come.add(buffer);
    }

    @Override
    public void onBlockFetchFailure(String name, Throwable e) {
      come.add(e);
    }
  }

  private static final class Client {
    final Map<String, BlockStoreClient> ways = new LinkedHashMap<>();
    final int port;
    final byte[] scratch = new byte[64 << 10];
    static final int WARM = 10; /* rounds of a shape that are not counted */

    Client(int port, String shm, String tcp) throws Exception {
      this.port = port;
      ways.put("netty", Server.netty("client", null));
      ways.put("shm", weir("shm", shm));
      ways.put("tcp", weir("tcp", tcp));
      String some = System.getenv("WAYS");
      if (some != null) {
        ways.keySet().retainAll(Arrays.asList(some.split(",")));
      }
    }

    static BlockStoreClient weir(String transport, String topology) throws Exception {
      Fabric f =
          new Fabric(options(transport), "client-" + transport, null, 0, null);
      f.meet("server", topology);
      SHAPES.forEach(s -> f.expect(s.shuffleId, s.partitions));
      return new WeirBlockStoreClient(f, null);
    }

    void run(int rounds, List<String> wanted) throws Exception {
      for (Shape s : SHAPES) {
        if (!wanted.isEmpty() && !wanted.contains(s.name)) {
          continue;
        }
        Map<String, double[]> ns = new LinkedHashMap<>();
        long sum = 0;
        for (int i = -WARM; i < rounds; i++) {
          for (Map.Entry<String, BlockStoreClient> way : ways.entrySet()) {
            long began = System.nanoTime();
            long one = all(s, way.getValue());
            double took = System.nanoTime() - began;
            sum = sum == 0 ? one : sum;
            if (one != sum) {
              throw new IllegalStateException(way.getKey() + " " + s.name + ": wrong bytes");
            }
            if (i >= 0) {
              ns.computeIfAbsent(way.getKey(), k -> new double[rounds])[i] = took;
            }
          }
        }
        print(s, ns);
      }
    }

    private static double median(double[] all) {
      double[] sorted = all.clone();
      Arrays.sort(sorted);
      return sorted[sorted.length / 2];
    }

    private static void print(Shape s, Map<String, double[]> ns) {
      double bytes = (double) s.maps * s.partitions * s.blockBytes;
      ns.forEach(
          (way, all) -> {
            double[] sorted = all.clone();
            Arrays.sort(sorted);
            System.out.printf(
                "%-14s %-6s %7.2f GB/s  (%.2f .. %.2f)%n",
                s.name,
                way,
                bytes / median(all),
                bytes / sorted[sorted.length - 1],
                bytes / sorted[0]);
          });
      double[] netty = ns.remove("netty");
      ns.forEach(
          (way, all) -> {
            if (netty != null) {
              System.out.printf("netty/%s transfer-%s %.2f%n", way, s.name, ratio(netty, all));
            }
          });
    }

    /* The median over rounds: neighbours had the same machine. */
    private static double ratio(double[] of, double[] to) {
      double[] each = new double[of.length];
      Arrays.setAll(each, i -> of[i] / to[i]);
      return median(each);
    }

    /** Two requests at a time, as a reducer with few peers has. */
    private long all(Shape s, BlockStoreClient client) throws Exception {
      int requests = s.partitions / s.perMap;
      Sink[] sinks = new Sink[requests];
      long sum = 0;
      for (int i = 0; i <= requests; i++) {
        if (i < requests) {
          sinks[i] = new Sink();
          client.fetchBlocks(
              "127.0.0.1", port, "server", s.request(i * s.perMap), sinks[i], null);
        }
        if (i > 0) {
          for (int n = 0; n < s.maps * s.perMap; n++) {
            sum += read(sinks[i - 1].come.take());
          }
        }
      }
      return sum;
    }

    private long read(Object what) throws Exception {
      if (what instanceof Throwable) {
        throw new IllegalStateException((Throwable) what);
      }
      ManagedBuffer buffer = (ManagedBuffer) what;
      CRC32C crc = new CRC32C();
      try (InputStream in = buffer.createInputStream()) {
        int n;
        while ((n = in.read(scratch)) > 0) {
          crc.update(scratch, 0, n);
        }
      }
      buffer.release();
      return crc.getValue();
    }
  }
}
