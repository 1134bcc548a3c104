// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.File;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Map outputs of this executor, as regions. Of each shuffle:
 *
 * <pre>
 *   (space, mapId &lt;&lt; 1)    the data file of a map output
 *   (space, k &lt;&lt; 1 | 1)    chunk k of the index, memory:
 *
 *     next  8  1: there is a chunk k + 1, and this one is final
 *     used  8  bytes of the chunk that are written, these 16 included
 *     entries: mapId 8, partitions 8, offsets 8 x (partitions + 1)
 * </pre>
 *
 * All words are little-endian. Entries are written before {@code used}, and a reader takes {@code
 * next} first, so it never skips one. All map outputs of a shuffle have as many partitions, so both
 * sides know how large chunk k is.
 */
final class Outputs {
  static final int HEAD_BYTES = 16;
  static final int AT_NEXT = 0;
  static final int AT_USED = 8;
  static final int FIRST_CHUNK_BYTES = 64 << 10;
  static final int DOUBLINGS = 6;

  private final long handle;
  private final long nonce;
  private final Map<Integer, Shuffle> shuffles = new HashMap<>();
  private final Set<Integer> removed = new HashSet<>();
  private boolean closed;

  Outputs(long handle, long nonce) {
    this.handle = handle;
    this.nonce = nonce;
  }

  static long space(long nonce, int shuffleId) {
    return nonce + shuffleId;
  }

  static long dataId(long mapId) {
    return mapId << 1;
  }

  static long chunkId(int k) {
    return (long) k << 1 | 1;
  }

  static long entryBytes(int partitions) {
    return 16 + 8L * (partitions + 1);
  }

  static long chunkBytes(int k, int partitions) {
    return Math.max(
        (long) FIRST_CHUNK_BYTES << Math.min(k, DOUBLINGS), HEAD_BYTES + entryBytes(partitions));
  }

  private static final class Shuffle {
    final List<Long> regions = new ArrayList<>();
    int chunks;
    ByteBuffer chunk;
  }

  /** A map task has committed. */
  synchronized void publish(int shuffleId, long mapId, long[] lengths, File data)
      throws WeirException {
    long bytes = 0;
    for (long n : lengths) {
      bytes += n;
    }
    if (bytes == 0 || closed || removed.contains(shuffleId)) {
      return;
    }
    long space = space(nonce, shuffleId);
    Shuffle s = shuffles.computeIfAbsent(shuffleId, k -> new Shuffle());
    long region =
        Native.publishFile(handle, data.getPath(), bytes, space, dataId(mapId));
    boolean entered = false;
    try {
      enter(s, space, mapId, lengths);
      entered = true;
    } finally {
      if (entered) {
        keep(s, region);
      } else {
        Native.revoke(region);
      }
    }
  }

  private static void keep(Shuffle s, long region) {
    s.regions.add(region);
    Metrics.ME.add("registrations", 1);
    Metrics.ME.add("regions", 1);
  }

  private void enter(Shuffle s, long space, long mapId, long[] lengths) throws WeirException {
    ByteBuffer full = null;
    if (s.chunk == null || s.chunk.remaining() < entryBytes(lengths.length)) {
      long bytes = chunkBytes(s.chunks, lengths.length);
      if (bytes > Integer.MAX_VALUE) {
        throw new WeirException(-1, "an index of " + lengths.length + " partitions is too long");
      }
      long region = Native.publishMemory(handle, bytes, space, chunkId(s.chunks));
      keep(s, region);
      full = s.chunk;
      s.chunk = Native.memory(region).order(ByteOrder.LITTLE_ENDIAN);
      s.chunk.position(HEAD_BYTES);
      s.chunks++;
    }
    write(s.chunk, mapId, lengths);
    if (full != null) {
      VarHandle.releaseFence();
      full.putLong(AT_NEXT, 1);
    }
  }

  private static void write(ByteBuffer to, long mapId, long[] lengths) {
    to.putLong(mapId).putLong(lengths.length);
    long at = 0;
    to.putLong(at);
    for (long n : lengths) {
      at += n;
      to.putLong(at);
    }
    VarHandle.releaseFence();
    to.putLong(AT_USED, to.position());
  }

  synchronized void remove(int shuffleId) {
    removed.add(shuffleId);
    revoke(shuffles.remove(shuffleId));
  }

  private static void revoke(Shuffle s) {
    if (s != null) {
      s.regions.forEach(Native::revoke);
      Metrics.ME.add("regions", -s.regions.size());
    }
  }

  /** Before the node is closed. */
  synchronized void close() {
    closed = true;
    shuffles.values().forEach(Outputs::revoke);
    shuffles.clear();
  }
}
