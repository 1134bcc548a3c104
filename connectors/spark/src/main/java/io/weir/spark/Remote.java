// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** An executor that this one fetches from. Under {@link Fabric}'s lock. */
final class Remote {
  private static final String MARK = "weir:";

  final String executor;
  final String address;
  final long nonce;
  final Map<Integer, Index> indexes = new HashMap<>();
  final Set<Metrics.Reason> told = EnumSet.noneOf(Metrics.Reason.class);

  /** Of libweir; 0: not opened yet. */
  long peer;

  /** What it has is not mapped, and goes where we say without another copy. */
  boolean streams;

  boolean refused;
  boolean lost;

  /** When it is tried again. */
  long lostUntil;

  private Remote(String executor, String address, long nonce) {
    this.executor = executor;
    this.address = address;
    this.nonce = nonce;
  }

  /** What a map status says of its executor's node. */
  static String topology(long nonce, String address, String before) {
    return MARK + Long.toHexString(nonce) + ":" + address + (before == null ? "" : "|" + before);
  }

  /** Null: it says nothing. */
  static Remote parse(String executor, String topology) {
    int colon = topology == null ? -1 : topology.indexOf(':', MARK.length());
    if (colon < 0 || !topology.startsWith(MARK)) {
      return null;
    }
    int bar = topology.indexOf('|');
    String address = topology.substring(colon + 1, bar < 0 ? topology.length() : bar);
    try {
      long nonce = Long.parseUnsignedLong(topology.substring(MARK.length(), colon), 16);
      return new Remote(executor, address, nonce);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  boolean isLost() {
    if (lost && System.nanoTime() - lostUntil >= 0) {
      lost = false;
    }
    return lost;
  }
}
