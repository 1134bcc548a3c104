// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import org.apache.spark.SparkConf;

/** spark.weir.*: docs/spark.md has the table. */
final class Options {
  private static final long RINGS_BYTES = 8 << 20;

  final boolean enabled;
  final String transport;
  final String listen;
  final String advertise;
  final String library;
  final long memoryBytes;
  final long maxBytesInFlight;
  final int copyBelow;
  final long mapFrom;
  final long timeoutNs;
  final long detectNs;
  final int maxPeers;

  /** By the secret, over tcp. */
  final boolean tls;

  private final SparkConf conf;

  Options(SparkConf conf) {
    this(conf, false);
  }

  private Options(SparkConf conf, boolean tls) {
    this.conf = conf;
    this.tls = tls;
    enabled = conf.getBoolean("spark.weir.enabled", true);
    transport = conf.get("spark.weir.transport", "auto");
    listen = conf.get("spark.weir.listen", null);
    advertise = conf.get("spark.weir.advertise", null);
    library = conf.get("spark.weir.library", null);
    memoryBytes = conf.getSizeAsBytes("spark.weir.memory", "1g");
    maxBytesInFlight = conf.getSizeAsBytes("spark.weir.maxBytesInFlight", "256m");
    copyBelow = (int) conf.getSizeAsBytes("spark.weir.copyBelow", "32k");
    mapFrom = conf.getSizeAsBytes("spark.weir.mapFrom", "1m");
    timeoutNs = conf.getTimeAsMs("spark.weir.timeout", "30s") * 1_000_000L;
    detectNs = conf.getTimeAsMs("spark.weir.detect", "5s") * 1_000_000L;
    maxPeers = conf.getInt("spark.weir.maxPeers", 1024);
    if (!transport.matches("auto|shm|tcp|verbs")) {
      throw new IllegalArgumentException(
          "spark.weir.transport is " + transport + "; it can be auto, shm, tcp or verbs");
    }
  }

  /** Of map outputs; peers of the host read them there. The rest is for what has to be copied. */
  long mostInMemory() {
    boolean host = transport.equals("shm") || transport.equals("auto");
    return host ? memoryBytes / 4 * 3 - RINGS_BYTES : 0;
  }

  /** The same, but for the transport. */
  Options with(String other) {
    return new Options(conf.clone().set("spark.weir.transport", other), tls);
  }

  /** The same, with TLS by the secret over tcp. */
  Options withTls() {
    return new Options(conf, true);
  }
}
