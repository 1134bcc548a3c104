// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bytes that libweir has lent, memory of the owner (shm) or of the library, or the pool's. Several
 * blocks may be in it. A stream over it may outlive its release, as Spark has threads that read on while their
 * task is ended by another; so each read takes the monitor and looks whether it is still there.
 */
final class Lent {
  private final Lender lender;
  private final long number;
  private final long pooled;
  private final ByteBuffer bytes;
  private final AtomicInteger users = new AtomicInteger(1);
  private boolean gone;

  /** Who takes it back. */
  interface Lender {
    void giveBack(Lent lent);
  }

  /** By its number in the fetch, or pooled. */
  Lent(Lender lender, long number, long pooled, ByteBuffer bytes) {
    this.lender = lender;
    this.number = number;
    this.pooled = pooled;
    this.bytes = bytes;
  }

  long number() {
    return number;
  }

  long pooled() {
    return pooled;
  }

  int size() {
    return bytes.capacity();
  }

  void hold() {
    users.incrementAndGet();
  }

  void drop() {
    if (users.decrementAndGet() == 0) {
      lender.giveBack(this);
    }
  }

  /** Whoever still has it: it goes back now. */
  void finish() {
    lender.giveBack(this);
  }

  /** True: the first call. Nobody reads it afterwards. */
  synchronized boolean end() {
    boolean first = !gone;
    gone = true;
    return first;
  }

  synchronized void read(int at, byte[] to, int off, int n) throws IOException {
    if (gone) {
      throw new IOException("the block was released");
    }
    bytes.get(at, to, off, n);
  }

  synchronized int read(int at) throws IOException {
    if (gone) {
      throw new IOException("the block was released");
    }
    return bytes.get(at) & 0xff;
  }
}
