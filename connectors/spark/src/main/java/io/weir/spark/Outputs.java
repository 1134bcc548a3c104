// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.File;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
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
 *   (space, k &lt;&lt; 1 | 1)    chunk k of the index, memory:
 *
 *     next  8  1: there is a chunk k + 1, and this one is final
 *     used  8  bytes of the chunk that are written, these 16 included
 *     entries: mapId 8, partitions 8, region 8, off 8,
 *              offsets from there 8 x (partitions + 1)
 *
 *   (space, n &lt;&lt; 1)        region n: memory with the bytes of several map outputs, or the
 *                          pages of one data file; peers of the host read either in place
 * </pre>
 *
 * All words are little-endian. Entries are written before {@code used}, and a reader takes {@code
 * next} first, so it never skips one. All map outputs of a shuffle have as many partitions, so both
 * sides know how large chunk k is.
 *
 * <p>For a region of its own an executor asks once, and maps it. For a small map output that costs
 * more than a copy to memory which it has mapped already. The copy is made outside of the lock. What
 * finds no room in memory is published as it lies in its file, and the other way round.
 */
final class Outputs {
  static final int HEAD_BYTES = 16;
  static final int ENTRY_HEAD_BYTES = 32;
  static final int AT_NEXT = 0;
  static final int AT_USED = 8;
  static final int FIRST_CHUNK_BYTES = 64 << 10;
  static final int DOUBLINGS = 6;
  /* A huge page: several times as fast to make as 1 MiB of small ones. */
  private static final int FIRST_STORE_BYTES = 2 << 20;
  private static final int STORE_DOUBLINGS = 3;

  private final long handle;
  private final long nonce;
  private final long mostInMemory;
  private final long mapFrom;
  private final Map<Integer, Shuffle> shuffles = new HashMap<>();
  private final Set<Integer> removed = new HashSet<>();
  private long inMemory;
  private boolean closed;

  /**
   * @param mostInMemory bytes of map outputs that are copied to memory
   * @param mapFrom bytes of a map output from which on it stays in its file
   */
  Outputs(long handle, long nonce, long mostInMemory, long mapFrom) {
    this.handle = handle;
    this.nonce = nonce;
    this.mostInMemory = mostInMemory;
    this.mapFrom = mapFrom;
  }

  static long space(long nonce, int shuffleId) {
    return nonce + shuffleId;
  }

  static long dataId(long region) {
    return region << 1;
  }

  static long chunkId(int k) {
    return (long) k << 1 | 1;
  }

  static long entryBytes(int partitions) {
    return ENTRY_HEAD_BYTES + 8L * (partitions + 1);
  }

  static long chunkBytes(int k, int partitions) {
    return Math.max(
        (long) FIRST_CHUNK_BYTES << Math.min(k, DOUBLINGS), HEAD_BYTES + entryBytes(partitions));
  }

  /** Memory of some map outputs of a shuffle. */
  private static final class Store {
    final long number;
    final ByteBuffer memory;
    int used;

    Store(long number, ByteBuffer memory) {
      this.number = number;
      this.memory = memory;
    }
  }

  private static final class Shuffle {
    final List<Long> regions = new ArrayList<>();
    int chunks;
    ByteBuffer chunk;
    Store store;
    int stores;
    long numbers;
    long inMemory;
    int copying;
    boolean over;
  }

  /** Where an output lies. */
  private static final class Place {
    Store store; /* null: in its file */
    long region;
    long off;
  }

  /** A map task has committed. */
  void publish(int shuffleId, long mapId, long[] lengths, File data) throws IOException {
    long bytes = 0;
    for (long n : lengths) {
      bytes += n;
    }
    Shuffle s;
    Place at;
    synchronized (this) {
      if (bytes == 0 || closed || removed.contains(shuffleId)) {
        return;
      }
      s = shuffles.computeIfAbsent(shuffleId, k -> new Shuffle());
      at = reserve(s, space(nonce, shuffleId), bytes, data);
      s.copying++;
    }
    boolean copied = false;
    try {
      if (at.store != null) {
        copy(data, at, bytes);
      }
      copied = true;
    } finally {
      synchronized (this) {
        s.copying--;
        if (copied && !s.over) {
          enter(s, space(nonce, shuffleId), at, mapId, lengths);
        }
        revokeIfOver(s);
      }
    }
  }

  /* ---- the bytes ---- */

  private Place reserve(Shuffle s, long space, long bytes, File data) throws WeirException {
    Place at = bytes < mapFrom ? inMemory(s, space, bytes) : null;
    if (at != null) {
      return at;
    }
    try {
      return inFile(s, space, bytes, data);
    } catch (WeirException e) { /* descriptors or mappings are used up */
      at = bytes < mapFrom ? null : inMemory(s, space, bytes);
      if (at == null) {
        throw e;
      }
      return at;
    }
  }

  private Place inFile(Shuffle s, long space, long bytes, File data) throws WeirException {
    Place at = new Place();
    at.region = s.numbers++;
    keep(s, Native.publishFile(handle, data.getPath(), bytes, space, dataId(at.region)));
    Metrics.ME.add("outputsMapped", 1);
    return at;
  }

  /* Null: there is no room. */
  private Place inMemory(Shuffle s, long space, long bytes) {
    if (s.store == null || s.store.memory.capacity() - s.store.used < bytes) {
      Store fresh = openStore(s, space, bytes);
      if (fresh == null) {
        return null;
      }
      s.store = fresh;
    }
    Place at = new Place();
    at.store = s.store;
    at.region = s.store.number;
    at.off = s.store.used;
    s.store.used += (int) (bytes + 63 & ~63L);
    Metrics.ME.add("outputsInMemory", 1);
    return at;
  }

  /** Null: there is no room. */
  private Store openStore(Shuffle s, long space, long bytes) {
    long size = Math.max((long) FIRST_STORE_BYTES << Math.min(s.stores, STORE_DOUBLINGS), bytes + 63 & ~63L);
    if (size > Integer.MAX_VALUE - 64 || inMemory + size > mostInMemory) {
      return null;
    }
    long number = s.numbers++;
    try {
      long region = Native.publishMemory(handle, size, space, dataId(number));
      keep(s, region);
      inMemory += size;
      s.inMemory += size;
      s.stores++;
      return new Store(number, Native.memory(region));
    } catch (WeirException e) { /* less memory than was hoped for */
      return null;
    }
  }

  private static void copy(File data, Place at, long bytes) throws IOException {
    ByteBuffer to = at.store.memory.duplicate();
    to.position((int) at.off).limit((int) (at.off + bytes));
    try (FileChannel in = FileChannel.open(data.toPath(), StandardOpenOption.READ)) {
      while (to.hasRemaining()) {
        if (in.read(to) < 0) {
          throw new IOException(data + " is shorter than its index says");
        }
      }
    }
  }

  private static void keep(Shuffle s, long region) {
    s.regions.add(region);
    Metrics.ME.add("registrations", 1);
    Metrics.ME.add("regions", 1);
  }

  /* ---- the index ---- */

  private void enter(Shuffle s, long space, Place at, long mapId, long[] lengths)
      throws WeirException {
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
    s.chunk.putLong(mapId).putLong(lengths.length).putLong(at.region).putLong(at.off);
    write(s.chunk, lengths);
    if (full != null) {
      VarHandle.releaseFence();
      full.putLong(AT_NEXT, 1);
    }
  }

  private static void write(ByteBuffer to, long[] lengths) {
    long at = 0;
    to.putLong(at);
    for (long n : lengths) {
      at += n;
      to.putLong(at);
    }
    VarHandle.releaseFence();
    to.putLong(AT_USED, to.position());
  }

  /* ---- ends ---- */

  synchronized void remove(int shuffleId) {
    removed.add(shuffleId);
    end(shuffles.remove(shuffleId));
  }

  private void end(Shuffle s) {
    if (s != null) {
      s.over = true;
      revokeIfOver(s);
    }
  }

  /* Not while something is copied to its memory. */
  private void revokeIfOver(Shuffle s) {
    if (s.over && s.copying == 0) {
      s.regions.forEach(Native::revoke);
      Metrics.ME.add("regions", -s.regions.size());
      s.regions.clear();
      inMemory -= s.inMemory;
      s.inMemory = 0;
      notifyAll();
    }
  }

  /** Before the node is closed. */
  synchronized void close() {
    closed = true;
    List<Shuffle> all = List.copyOf(shuffles.values());
    shuffles.clear();
    all.forEach(this::end);
    boolean interrupted = false;
    while (all.stream().anyMatch(s -> s.copying > 0)) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
