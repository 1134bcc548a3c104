// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks that have come, to whoever waits for them, without {@link Fabric}'s lock. What libweir has
 * lent is looked at and given back under the gate's read side, so that none of it is left when the
 * node is closed.
 */
final class Delivery implements Lent.Lender {
  private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);

  /** The rest of the fetch's operations, with some to spare. */
  private static final int MOST_LENT = Native.MAX_OPS / 2 - Native.AT_ONCE;

  private final long fetch;
  private final Pool pool;
  private final int copyBelow;
  private final long mostBytes;
  private final AtomicLong lentBytes = new AtomicLong();
  private final ReentrantReadWriteLock gate = new ReentrantReadWriteLock();
  private boolean closed;
  private final Set<Lent> lent = ConcurrentHashMap.newKeySet();
  private final ExecutorService others =
      Executors.newCachedThreadPool(
          r -> {
            Thread t = new Thread(r, "weir-fallback");
            t.setDaemon(true);
            return t;
          });

  Delivery(Options options, long fetch, Pool pool) {
    this.fetch = fetch;
    this.pool = pool;
    this.copyBelow = options.copyBelow;
    this.mostBytes = options.maxBytesInFlight / 2;
  }

  void deliver(List<Done> done) {
    if (done.isEmpty()) {
      return;
    }
    gate.readLock().lock();
    try {
      for (Done d : done) {
        if (d.failure != null) {
          goesAnotherWay(d);
        } else if (!closed) {
          came(d);
        } else {
          refuse(d, new IllegalStateException("the executor stops"));
        }
      }
    } finally {
      gate.readLock().unlock();
    }
  }

  private static void refuse(Done d, Exception why) {
    for (Request.Block b : d.blocks) {
      d.request.listener.onBlockFetchFailure(b.name, why);
    }
  }

  /* Spark's own transfer may block, while it connects. */
  private void goesAnotherWay(Done d) {
    Metrics.ME.fallback(d.failure.reason, d.blocks.length);
    String[] names = new String[d.blocks.length];
    for (int i = 0; i < names.length; i++) {
      names[i] = d.blocks[i].name;
    }
    try {
      others.execute(() -> d.request.fallback.accept(names, d.failure));
    } catch (RejectedExecutionException e) { /* the executor stops */
      refuse(d, e);
    }
  }

  private void came(Done d) {
    Metrics.ME.add(d.mapped ? "bytesShm" : "bytesNetwork", d.bytes);
    Metrics.ME.add("blocks", d.blocks.length);
    Metrics.ME.add("fetchNs", System.nanoTime() - d.request.beganNs);
    Lent l = d.bytes / d.blocks.length >= copyBelow ? lend(d) : null;
    Metrics.ME.add(l == null ? "blocksCopied" : "blocksLent", d.blocks.length);
    ManagedBuffer[] buffers = new ManagedBuffer[d.blocks.length];
    for (int i = 0; i < buffers.length; i++) {
      Request.Block b = d.blocks[i];
      int at = (int) (b.off - d.blocks[0].off);
      buffers[i] =
          l != null ? new LentBuffer(l, at, (int) b.bytes) : copy(d.ptr + at, (int) b.bytes);
    }
    if (l != null) {
      l.drop();
      d.request.keep(l);
    } else {
      giveBack(d.lent, d.pooled);
    }
    for (int i = 0; i < buffers.length; i++) {
      tell(d, i, buffers[i]);
    }
  }

  private void giveBack(long number, long pooled) {
    if (pooled != 0) {
      pool.give(pooled);
    } else {
      Native.release(fetch, number);
    }
  }

  private static ManagedBuffer copy(long ptr, int bytes) {
    byte[] to = new byte[bytes];
    Native.copy(ptr, to, 0, bytes);
    return new NioManagedBuffer(ByteBuffer.wrap(to));
  }

  /* The listener keeps it by a hold of its own. */
  private static void tell(Done d, int i, ManagedBuffer buffer) {
    try {
      d.request.listener.onBlockFetchSuccess(d.blocks[i].name, buffer);
    } catch (RuntimeException e) {
      LOG.error("Weir: {} could not be handed over", d.blocks[i].name, e);
    } finally {
      buffer.release();
    }
  }

  /* ---- what is lent ---- */

  private Lent lend(Done d) {
    if (lent.size() >= MOST_LENT || lentBytes.get() + d.bytes > mostBytes) {
      return null;
    }
    Lent l = new Lent(this, d.lent, d.pooled, Native.wrap(d.ptr, d.bytes));
    lentBytes.addAndGet(d.bytes);
    lent.add(l);
    Metrics.ME.add("lent", 1);
    return l;
  }

  @Override
  public void giveBack(Lent l) {
    gate.readLock().lock();
    try {
      if (l.end()) {
        end(l);
      }
    } finally {
      gate.readLock().unlock();
    }
  }

  private void end(Lent l) {
    lent.remove(l);
    lentBytes.addAndGet(-l.size());
    Metrics.ME.add("lent", -1);
    giveBack(l.number(), l.pooled());
  }

  /** After the fetch, before the node: nobody reads what is lent any more. */
  void close() {
    others.shutdown();
    gate.writeLock().lock();
    try {
      closed = true;
      for (Lent l : Set.copyOf(lent)) {
        if (l.end()) {
          end(l);
        }
      }
    } finally {
      gate.writeLock().unlock();
    }
  }
}
