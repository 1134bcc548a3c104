// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a reader knows of a peer's map outputs of one shuffle, see {@link Outputs}. */
final class Index {
  final Remote remote;
  final int shuffleId;
  final int partitions;

  /** The chunk that is read next, again and again until it is final. */
  int chunk;

  boolean loading;

  /** Requests that go on when it is loaded. */
  List<Request> waiting = new ArrayList<>();

  private int parsed = Outputs.HEAD_BYTES;
  private final Map<Long, Output> outputs = new HashMap<>();

  Index(Remote remote, int shuffleId, int partitions) {
    this.remote = remote;
    this.shuffleId = shuffleId;
    this.partitions = partitions;
  }

  /** Where a map output lies: region, and the offsets of its partitions in it; or null. */
  Output of(long mapId) {
    return outputs.get(mapId);
  }

  static final class Output {
    final long region;
    final long[] offsets;

    private Output(long region, long[] offsets) {
      this.region = region;
      this.offsets = offsets;
    }
  }

  long space() {
    return Outputs.space(remote.nonce, shuffleId);
  }

  long chunkBytes() {
    return Outputs.chunkBytes(chunk, partitions);
  }

  /** Take what is new in a chunk. True: there is another one. */
  boolean parse(ByteBuffer bytes) throws WeirException {
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    boolean last = bytes.getLong(Outputs.AT_NEXT) == 0;
    VarHandle.acquireFence();
    long used = bytes.getLong(Outputs.AT_USED);
    check(used == 0 || used >= parsed && used <= bytes.capacity(), "its length");
    while (parsed < used) {
      parsed += (int) entry(bytes, parsed, used);
    }
    if (!last) {
      chunk++;
      parsed = Outputs.HEAD_BYTES;
    }
    return !last;
  }

  private long entry(ByteBuffer bytes, int at, long used) throws WeirException {
    long n = used - at < Outputs.ENTRY_HEAD_BYTES ? -1 : bytes.getLong(at + 8);
    check(n == partitions && Outputs.entryBytes(partitions) <= used - at, "an entry");
    long base = bytes.getLong(at + 24);
    long before = 0;
    long[] o = new long[partitions + 1];
    for (int i = 0; i < o.length; i++) {
      long next = bytes.getLong(at + Outputs.ENTRY_HEAD_BYTES + 8 * i);
      check(base >= 0 && next >= before && base + next >= next, "an offset");
      o[i] = base + next;
      before = next;
    }
    outputs.put(bytes.getLong(at), new Output(bytes.getLong(at + 16), o));
    return Outputs.entryBytes(partitions);
  }

  private static void check(boolean good, String what) throws WeirException {
    if (!good) {
      throw new WeirException(-201, "an index is damaged: " + what);
    }
  }
}
