// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Gets: those that wait for their turn, and those under way. Under {@link Fabric}'s lock.
 *
 * <p>Half of the fetch's operations and bytes may be under way; the other half is what {@link
 * Delivery} leaves lent. So what Spark holds on to never keeps gets from ending.
 */
final class Flight {
  static final int MOST = Native.MAX_OPS / 2;

  /** Neighbours are got together up to that. */
  private static final long RUN_BYTES = 1 << 20;

  /** One get. */
  static final class Op {
    final Remote remote;
    final Index index; /* of a chunk of that, else null */
    final Request request;
    final Request.Block[] blocks;
    final long space;
    final long id;
    final long off;
    final long bytes;
    long ptr;
    long pooled;

    private Op(Index index) {
      this.remote = index.remote;
      this.index = index;
      this.request = null;
      this.blocks = null;
      this.space = index.space();
      this.id = Outputs.chunkId(index.chunk);
      this.off = 0;
      this.bytes = index.chunkBytes();
    }

    private Op(Request r, Request.Block[] blocks, long space) {
      Request.Block last = blocks[blocks.length - 1];
      this.remote = r.remote;
      this.index = null;
      this.request = r;
      this.blocks = blocks;
      this.space = space;
      this.id = Outputs.dataId(last.region);
      this.off = blocks[0].off;
      this.bytes = last.off + last.bytes - off;
    }

    ByteBuffer bytes() {
      return Native.wrap(ptr, bytes);
    }
  }

  /** Told of index chunks. */
  interface Indexed {
    void take(Op op, WeirException e, List<Done> done);
  }

  private final long handle;
  private final long fetch;
  private final Pool pool;
  private final int pooledFrom;
  private final long mostBytes;
  private final ArrayDeque<Op> ready = new ArrayDeque<>();
  private final Op[] ops = new Op[MOST];
  private final int[] free = new int[MOST];
  private int frees = MOST;
  private long bytes;
  private final ByteBuffer gets = words(Native.AT_ONCE * Native.GET_WORDS);
  private final ByteBuffer gots = words(Native.AT_ONCE * Native.GOT_WORDS);

  Flight(long handle, Options options, Pool pool) {
    this.handle = handle;
    this.pool = pool;
    this.pooledFrom = options.copyBelow;
    this.fetch = Native.fetch(handle);
    this.mostBytes = options.maxBytesInFlight / 2;
    for (int i = 0; i < MOST; i++) {
      free[i] = i;
    }
  }

  private static ByteBuffer words(int n) {
    return ByteBuffer.allocateDirect(8 * n).order(ByteOrder.nativeOrder());
  }

  void load(Index x) {
    ready.addFirst(new Op(x));
    Metrics.ME.add("indexGets", 1);
  }

  /** All blocks of a request that have their place. */
  void add(Request r, long space) {
    Request.Block[] all = r.blocks;
    int begin = 0;
    while (begin < all.length) {
      int end = begin + 1;
      if (all[begin].off >= 0) {
        while (end < all.length && follows(all[begin], all[end - 1], all[end])) {
          end++;
        }
        ready.add(new Op(r, Arrays.copyOfRange(all, begin, end), space));
      }
      begin = end;
    }
  }

  private static boolean follows(Request.Block first, Request.Block before, Request.Block b) {
    return b.off >= 0
        && b.region == before.region
        && b.off == before.off + before.bytes
        && b.off + b.bytes - first.off <= RUN_BYTES;
  }

  boolean busy() {
    return frees != MOST || !ready.isEmpty();
  }

  /** Start what there is room for. True: something has moved. */
  boolean post(List<Done> done) {
    boolean moved = false;
    while (!ready.isEmpty()) {
      Op first = ready.peek();
      if (first.remote.lost) {
        ready.remove();
        fail(first, new WeirException(WeirException.PEER_LOST, "its peer is lost"), done);
        moved = true;
        continue;
      }
      int n = gather(first.remote);
      int taken = n == 0 ? 0 : give(first.remote, n, done);
      moved |= taken > 0;
      if (n == 0 || taken < n) {
        break;
      }
    }
    return moved;
  }

  /** The first of those that are ready and of one peer, as words. */
  private int gather(Remote remote) {
    int n = 0;
    long sum = bytes;
    gets.clear();
    for (Op op : ready) {
      boolean room = sum == 0 || sum + op.bytes <= mostBytes;
      if (op.remote != remote || n == Native.AT_ONCE || n == frees || !room) {
        break;
      }
      sum += op.bytes;
      if (op.pooled == 0 && remote.streams && op.index == null && op.bytes >= pooledFrom) {
        op.pooled = pool.take(op.bytes);
      }
      gets.putLong(op.space).putLong(op.id).putLong(op.off).putLong(op.bytes);
      gets.putLong(op.pooled).putLong(free[frees - 1 - n]);
      n++;
    }
    return n;
  }

  private int give(Remote remote, int n, List<Done> done) {
    int taken;
    try {
      taken = Native.get(handle, remote.peer, gets, n);
    } catch (WeirException e) {
      fail(ready.remove(), e, done);
      return n;
    }
    for (int i = 0; i < taken; i++) {
      Op op = ready.remove();
      ops[free[--frees]] = op;
      bytes += op.bytes;
    }
    Metrics.ME.add("gets", taken);
    return taken;
  }

  private void fail(Op op, WeirException e, List<Done> done) {
    pool.give(op.pooled);
    if (op.index != null) {
      failures.add(op);
      failure = e;
    } else {
      done.add(Done.failed(op.request, op.blocks, e));
    }
  }

  /* Index chunks that could not be started: land() tells of them. */
  private final List<Op> failures = new ArrayList<>();
  private WeirException failure;

  /** Take what has ended. True: something has. */
  boolean land(List<Done> done, Indexed indexed) {
    boolean moved = !failures.isEmpty();
    for (Op op : List.copyOf(failures)) {
      indexed.take(op, failure, done);
    }
    failures.clear();
    int n;
    while ((n = Native.next(handle, gots, Native.AT_ONCE)) > 0) {
      moved = true;
      for (int i = 0; i < n; i++) {
        took(8 * Native.GOT_WORDS * i, done, indexed);
      }
    }
    return moved;
  }

  private void took(int at, List<Done> done, Indexed indexed) {
    int slot = (int) gots.getLong(at);
    Op op = ops[slot];
    ops[slot] = null;
    free[frees++] = slot;
    bytes -= op.bytes;
    int code = (int) gots.getLong(at + 8);
    WeirException e = code == 0 ? null : new WeirException(code, Native.error(handle));
    op.ptr = gots.getLong(at + 16);
    long lent = gots.getLong(at + 32);
    boolean mapped = gots.getLong(at + 40) != 0;
    if (op.index != null) {
      op.remote.streams = e == null && !mapped && !op.remote.address.contains("verbs");
      indexed.take(op, e, done);
      Native.release(fetch, lent);
    } else if (e != null) {
      fail(op, e, done);
    } else {
      Done d = Done.came(op.request, op.blocks);
      d.ptr = op.ptr;
      d.bytes = op.bytes;
      d.lent = lent;
      d.pooled = op.pooled;
      d.mapped = mapped;
      done.add(d);
    }
  }

  /** The executor stops. */
  void abandon(List<Done> done) {
    for (Op op : ready) {
      stop(op, done);
    }
    for (Op op : ops) {
      stop(op, done);
    }
    ready.clear();
  }

  private static void stop(Op op, List<Done> done) {
    if (op == null) {
      return;
    }
    if (op.index == null) {
      done.add(Done.failed(op.request, op.blocks, Metrics.Reason.STOPPED, ""));
      return;
    }
    for (Request r : op.index.waiting) {
      done.add(Done.failed(r, r.blocks, Metrics.Reason.STOPPED, ""));
    }
    op.index.waiting = new ArrayList<>();
  }
}
