// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The node of an executor: what it publishes, and what it fetches.
 *
 * <p>There is one lock around the node's one worker. Whoever calls {@link #fetch} starts its gets
 * and takes what has ended by then; the rest is taken by the one thread that sleeps on the worker's
 * descriptor, without the lock. Listeners are called without it, too.
 */
final class Fabric implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Fabric.class);
  private static final long LOST_NS = 30_000_000_000L;

  final Options options;
  final long nonce;
  final String address;
  final Outputs outputs;

  private final long handle;
  private final ReentrantLock lock = new ReentrantLock();
  private final Pool pool = new Pool();
  private final Flight flight;
  private final Delivery delivery;
  private final Map<String, Remote> remotes = new ConcurrentHashMap<>();
  private final Map<Integer, Integer> partitions = new ConcurrentHashMap<>();
  private final Thread poller;
  private boolean stopped;

  Fabric(Options options, String name, String listen, long nonce, byte[] secret)
      throws IOException {
    Native.load(options.library);
    this.options = options;
    this.nonce = nonce;
    handle =
        Native.open(
            new String[] {options.transport, listen, options.advertise, name},
            new long[] {
              options.maxPeers,
              options.memoryBytes,
              options.maxBytesInFlight,
              options.timeoutNs,
              options.detectNs,
              options.tls ? 1 : 0
            },
            secret);
    address = Native.address(handle);
    outputs = new Outputs(handle, nonce, options.mostInMemory(), options.mapFrom);
    delivery = new Delivery(options, Native.fetch(handle), pool);
    flight = new Flight(handle, options, pool);
    poller = new Thread(this::poll, "weir-fetch");
    poller.setDaemon(true);
    poller.start();
  }

  /** What a map status says of this node. */
  String topology(String before) {
    return Remote.topology(nonce, address, before);
  }

  /** Where an executor's node is; null topology: it has none. */
  void meet(String executor, String topology) {
    Remote now = remotes.get(executor);
    if (now == null || !topology.startsWith(Remote.topology(now.nonce, now.address, null))) {
      Remote fresh = Remote.parse(executor, topology);
      if (fresh != null) {
        remotes.put(executor, fresh);
      }
    }
  }

  Remote remote(String executor) {
    return remotes.get(executor);
  }

  void expect(int shuffleId, int count) {
    partitions.put(shuffleId, count);
  }

  boolean expects(int shuffleId) {
    return partitions.containsKey(shuffleId);
  }

  /** A shuffle is over, here. */
  void forget(int shuffleId) {
    outputs.remove(shuffleId);
    partitions.remove(shuffleId);
    lock.lock();
    try {
      remotes.values().forEach(r -> r.indexes.remove(shuffleId));
    } finally {
      lock.unlock();
    }
  }

  /** Never waits. The listener hears of each block once, or the fallback does. */
  void fetch(Request r) {
    List<Done> done = new ArrayList<>();
    lock.lock();
    try {
      start(r, done);
      turn(done);
    } finally {
      lock.unlock();
    }
    delivery.deliver(done);
  }

  /* ---- under the lock ---- */

  private void start(Request r, List<Done> done) {
    if (stopped) {
      done.add(Done.failed(r, r.blocks, Metrics.Reason.STOPPED, ""));
    } else if (r.remote.refused || r.remote.isLost()) {
      Metrics.Reason why = r.remote.refused ? Metrics.Reason.REFUSED : Metrics.Reason.LOST;
      done.add(Done.failed(r, r.blocks, why, ""));
    } else if (opened(r, done)) {
      plan(r, done);
    }
  }

  private boolean opened(Request r, List<Done> done) {
    if (r.remote.peer == 0) {
      try {
        r.remote.peer = Native.peer(handle, r.remote.address);
      } catch (WeirException e) {
        r.remote.refused = true;
        done.add(Done.failed(r, r.blocks, Metrics.Reason.REFUSED, e.getMessage()));
        return false;
      }
    }
    return true;
  }

  private void plan(Request r, List<Done> done) {
    Integer count = partitions.get(r.shuffleId);
    if (count == null) { /* forgotten meanwhile */
      done.add(Done.failed(r, r.blocks, Metrics.Reason.NOT_PUBLISHED, ""));
      return;
    }
    Index x =
        r.remote.indexes.computeIfAbsent(
            r.shuffleId, id -> new Index(r.remote, id, count));
    if (locate(r, x) == r.blocks.length) {
      flight.add(r, x.space());
    } else {
      x.waiting.add(r);
      if (!x.loading) {
        x.loading = true;
        flight.load(x);
      }
    }
  }

  /** How many of the blocks have their place. */
  private static int locate(Request r, Index x) {
    int found = 0;
    for (Request.Block b : r.blocks) {
      Index.Output o = x.of(b.mapId);
      if (o != null && b.to < o.offsets.length) {
        b.region = o.region;
        b.off = o.offsets[b.from];
        b.bytes = o.offsets[b.to] - b.off;
        found++;
      } else {
        b.off = -1;
      }
    }
    return found;
  }

  /** All that can be done now. */
  private void turn(List<Done> done) {
    if (stopped) {
      return;
    }
    do {
      while (flight.post(done) | flight.land(done, this::indexed)) {
        continue;
      }
    } while (flight.busy() && !Native.arm(handle));
    for (Done d : done) {
      if (d.failure != null) {
        failed(d);
      }
    }
  }

  private void failed(Done d) {
    Remote remote = d.request.remote;
    if (d.ofPeer && !remote.lost) {
      remote.lost = true;
      remote.lostUntil = System.nanoTime() + LOST_NS;
    }
    if (remote.told.add(d.failure.reason)) {
      LOG.warn(
          "Weir: blocks of executor {} ({}) come over Spark's own transfer: {}{}",
          remote.executor,
          remote.address,
          d.failure.reason.text,
          d.failure.message.isEmpty() ? "" : ": " + d.failure.message);
    }
  }

  /** A chunk of an index has come, or has not. */
  private void indexed(Flight.Op op, WeirException e, List<Done> done) {
    Index x = op.index;
    try {
      if (e == null && x.parse(op.bytes())) {
        flight.load(x);
        return;
      }
    } catch (WeirException damaged) {
      e = damaged;
    }
    x.loading = false;
    List<Request> waiting = x.waiting;
    x.waiting = new ArrayList<>();
    for (Request r : waiting) {
      if (e != null && e.code() != WeirException.NOT_FOUND) {
        done.add(Done.failed(r, e));
      } else {
        goOn(r, x, done);
      }
    }
  }

  private void goOn(Request r, Index x, List<Done> done) {
    int missing = r.blocks.length - locate(r, x);
    if (missing > 0) {
      Request.Block[] lacking = new Request.Block[missing];
      int n = 0;
      for (Request.Block b : r.blocks) {
        if (b.off < 0) {
          lacking[n++] = b;
        }
      }
      done.add(Done.failed(r, lacking, Metrics.Reason.NOT_PUBLISHED, lacking[0].name));
    }
    flight.add(r, x.space());
  }

  /* ---- the one thread ---- */

  private void poll() {
    boolean over = false;
    while (!over) {
      List<Done> done = new ArrayList<>();
      boolean sleep = false;
      lock.lock();
      try {
        turn(done);
        over = stopped;
        sleep = !over && Native.arm(handle);
      } finally {
        lock.unlock();
      }
      delivery.deliver(done);
      if (sleep) {
        Native.sleep(handle);
      }
    }
  }

  @Override
  public void close() {
    List<Done> done = new ArrayList<>();
    lock.lock();
    try {
      if (stopped) {
        return;
      }
      stopped = true;
      flight.abandon(done);
    } finally {
      lock.unlock();
    }
    delivery.deliver(done);
    Native.wake(handle);
    join();
    outputs.close();
    Native.closeFetch(handle);
    delivery.close();
    pool.close();
    for (Remote r : Set.copyOf(remotes.values())) {
      if (r.peer != 0) {
        Native.closePeer(r.peer);
      }
    }
    Native.close(handle);
    LOG.info("Weir: stopped; {}", Metrics.ME.snapshot());
  }

  private void join() {
    boolean interrupted = false;
    while (true) {
      try {
        poller.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
