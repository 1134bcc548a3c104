// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;

/** A block in lent memory, which goes back with the last release. */
final class LentBuffer extends ManagedBuffer {
  private final Lent lent;
  private final int off;
  private final int size;
  private final AtomicInteger holds = new AtomicInteger(1);

  /** Takes a use of lent. */
  LentBuffer(Lent lent, int off, int size) {
    this.lent = lent;
    this.off = off;
    this.size = size;
    lent.hold();
  }

  @Override
  public long size() {
    return size;
  }

  /** A copy: what it points to must outlive the release. */
  @Override
  public ByteBuffer nioByteBuffer() throws IOException {
    byte[] copy = new byte[size];
    lent.read(off, copy, 0, size);
    return ByteBuffer.wrap(copy);
  }

  @Override
  public Object convertToNetty() throws IOException {
    return Unpooled.wrappedBuffer(nioByteBuffer());
  }

  /** Abstract from Spark 4.0 on. */
  public Object convertToNettyForSsl() throws IOException {
    return convertToNetty();
  }

  @Override
  public ManagedBuffer retain() {
    holds.incrementAndGet();
    return this;
  }

  @Override
  public ManagedBuffer release() {
    if (holds.decrementAndGet() == 0) {
      lent.drop();
    }
    return this;
  }

  @Override
  public InputStream createInputStream() {
    return new Stream();
  }

  private final class Stream extends InputStream {
    private int at;
    private int mark;

    @Override
    public int read() throws IOException {
      return at < size ? lent.read(off + at++) : -1;
    }

    @Override
    public int read(byte[] to, int begin, int most) throws IOException {
      int n = Math.min(most, size - at);
      if (n <= 0) {
        return most == 0 ? 0 : -1;
      }
      lent.read(off + at, to, begin, n);
      at += n;
      return n;
    }

    @Override
    public long skip(long n) {
      int skipped = (int) Math.max(0, Math.min(n, size - at));
      at += skipped;
      return skipped;
    }

    @Override
    public int available() {
      return size - at;
    }

    @Override
    public boolean markSupported() {
      return true;
    }

    @Override
    public void mark(int limit) {
      mark = at;
    }

    @Override
    public void reset() {
      at = mark;
    }
  }
}
