// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What the plug-in has done in this process. */
public final class Metrics {
  static final Metrics ME = new Metrics();

  /** Why blocks went over Spark's own transfer. */
  enum Reason {
    DISABLED("spark.weir.enabled is false"),
    UNAVAILABLE("this executor has no node"),
    NO_ADDRESS("the peer has no node"),
    REFUSED("the peer's address cannot be used"),
    LOST("the peer does not answer"),
    NOT_PUBLISHED("the peer does not have it published"),
    TO_FILE("blocks that go to disk"),
    NOT_ORDINARY("not blocks of one shuffle"),
    FAILED("it could not be fetched"),
    STOPPED("this executor stops");

    final String text;

    Reason(String text) {
      this.text = text;
    }
  }

  private final Map<String, LongAdder> counters = new ConcurrentHashMap<>();

  private Metrics() {
    for (String name :
        new String[] {
          "bytesShm", "bytesNetwork", "blocks", "blocksCopied", "blocksLent", "gets", "indexGets",
          "registrations", "registrationsRefused", "outputsInMemory",
          "outputsMapped", "regions", "fetchNs", "lent"
        }) {
      counters.put(name, new LongAdder());
    }
    for (Reason r : Reason.values()) {
      counters.put(name(r), new LongAdder());
    }
  }

  private static String name(Reason r) {
    return "fallback." + r.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  void add(String name, long n) {
    counters.get(name).add(n);
  }

  void fallback(Reason r, int blocks) {
    counters.get(name(r)).add(blocks);
  }

  /** All of them, by name; fallback is the sum of its reasons. */
  public Map<String, Long> snapshot() {
    Map<String, Long> all = new TreeMap<>();
    long sum = 0;
    for (Map.Entry<String, LongAdder> e : counters.entrySet()) {
      long n = e.getValue().sum();
      all.put(e.getKey(), n);
      sum += e.getKey().startsWith("fallback.") ? n : 0;
    }
    all.put("fallback", sum);
    return all;
  }

  /** For whoever asks from outside. */
  public static Map<String, Long> ofThisProcess() {
    return ME.snapshot();
  }

  void register(MetricRegistry registry) {
    for (String name : snapshot().keySet()) {
      registry.register(name, (Gauge<Long>) () -> snapshot().get(name));
    }
  }
}
