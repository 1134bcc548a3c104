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
  private final Map<Long, long[]> offsets = new HashMap<>();

  Index(Remote remote, int shuffleId, int partitions) {
    this.remote = remote;
    this.shuffleId = shuffleId;
    this.partitions = partitions;
  }

  long[] of(long mapId) {
    return offsets.get(mapId);
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
    long n = used - at < Outputs.HEAD_BYTES ? -1 : bytes.getLong(at + 8);
    check(n == partitions && Outputs.entryBytes(partitions) <= used - at, "an entry");
    long[] o = new long[partitions + 1];
    for (int i = 0; i < o.length; i++) {
      o[i] = bytes.getLong(at + 16 + 8 * i);
      check(i == 0 ? o[i] == 0 : o[i] >= o[i - 1], "an offset");
    }
    offsets.put(bytes.getLong(at), o);
    return Outputs.entryBytes(partitions);
  }

  private static void check(boolean good, String what) throws WeirException {
    if (!good) {
      throw new WeirException(-201, "an index is damaged: " + what);
    }
  }
}
