// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Blocks of one shuffle that one call of fetchBlocks wants of one executor. */
final class Request {
  final Remote remote;
  final int shuffleId;
  final Block[] blocks;
  final BlockFetchingListener listener;
  final long beganNs = System.nanoTime();

  /** Takes what has to go another way: names of blocks, and why. */
  final BiConsumer<String[], Failure> fallback;

  Request(
      Remote remote,
      int shuffleId,
      Block[] blocks,
      BlockFetchingListener listener,
      BiConsumer<String[], Failure> fallback) {
    this.remote = remote;
    this.shuffleId = shuffleId;
    this.blocks = blocks;
    this.listener = listener;
    this.fallback = fallback;
  }

  private final List<Lent> lent = new ArrayList<>();
  private boolean over;

  /** What was lent for it. */
  void keep(Lent l) {
    boolean late;
    synchronized (this) {
      late = over;
      lent.add(l);
    }
    if (late) {
      l.finish();
    }
  }

  /** Its task has ended, perhaps without releasing all that it had. */
  void end() {
    List<Lent> all;
    synchronized (this) {
      over = true;
      all = List.copyOf(lent);
    }
    all.forEach(Lent::finish);
  }

  static final class Failure {
    final Metrics.Reason reason;
    final String message;

    Failure(Metrics.Reason reason, String message) {
      this.reason = reason;
      this.message = message;
    }
  }

  /** Partitions [from, to) of a map output. */
  static final class Block {
    final String name;
    final long mapId;
    final int from;
    final int to;
    long region;
    long off;
    long bytes;

    private Block(String name, long mapId, int from, int to) {
      this.name = name;
      this.mapId = mapId;
      this.from = from;
      this.to = to;
    }
  }

  private static int digits(String s, int at) {
    int i = at;
    while (i < s.length() && s.charAt(i) >= '0' && s.charAt(i) <= '9') {
      i++;
    }
    return i;
  }

  /** The numbers of shuffle_S_M_R and shuffle_S_M_R_R; null: another kind of block. */
  private static long[] numbers(String name) {
    final String mark = "shuffle_";
    if (!name.startsWith(mark)) {
      return null;
    }
    long[] n = new long[4];
    int count = 0;
    int at = mark.length();
    while (true) {
      int end = digits(name, at);
      if (end == at || end - at > 18 || count == 4) {
        return null;
      }
      n[count++] = Long.parseLong(name, at, end, 10);
      if (end == name.length()) {
        break;
      }
      if (name.charAt(end) != '_') {
        return null;
      }
      at = end + 1;
    }
    if (count == 3) {
      n[3] = n[2] + 1;
    }
    return count >= 3 && n[0] <= Integer.MAX_VALUE && n[3] <= Integer.MAX_VALUE && n[2] < n[3]
        ? n
        : null;
  }

  /** The shuffle of a block, or -1. */
  static int shuffleOf(String name) {
    long[] n = numbers(name);
    return n == null ? -1 : (int) n[0];
  }

  /** Null: not all of them are of that shuffle. */
  static Block[] parse(int shuffleId, String[] names) {
    Block[] blocks = new Block[names.length];
    for (int i = 0; i < names.length; i++) {
      long[] n = numbers(names[i]);
      if (n == null || n[0] != shuffleId) {
        return null;
      }
      blocks[i] = new Block(names[i], n[1], (int) n[2], (int) n[3]);
    }
    return blocks;
  }
}
