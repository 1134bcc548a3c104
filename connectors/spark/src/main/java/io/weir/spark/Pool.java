// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Memory that bytes from a network go to, used again and again: fresh memory of that size would be
 * cleared by the kernel each time, which takes as long as the copy out of the socket. As much as
 * was ever under way or lent at a time.
 */
final class Pool {
  private static final int LEAST_BYTES = 64 << 10;

  private final Map<Long, ArrayDeque<Long>> free = new HashMap<>();
  private final Map<Long, Long> all = new HashMap<>();
  private boolean closed;

  private static long rounded(long bytes) {
    return Math.max(LEAST_BYTES, Long.highestOneBit(bytes - 1) << 1);
  }

  /** 0: there is no memory. */
  synchronized long take(long bytes) {
    long size = rounded(bytes);
    ArrayDeque<Long> some = free.get(size);
    if (some != null && !some.isEmpty()) {
      return some.pop();
    }
    long ptr = closed ? 0 : Native.allocate(size);
    if (ptr != 0) {
      all.put(ptr, size);
    }
    return ptr;
  }

  synchronized void give(long ptr) {
    if (!closed && ptr != 0) {
      free.computeIfAbsent(all.get(ptr), k -> new ArrayDeque<>()).push(ptr);
    }
  }

  /** When nobody reads or writes any of it. */
  synchronized void close() {
    closed = true;
    all.keySet().forEach(Native::free);
    all.clear();
    free.clear();
  }
}
