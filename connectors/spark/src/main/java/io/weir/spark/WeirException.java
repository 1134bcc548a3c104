// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;

/** An error of libweir: its code (weir/error.h) and its message. */
public final class WeirException extends IOException {
  private static final long serialVersionUID = 1L;

  static final int NOT_FOUND = -3;
  static final int PEER_LOST = -200;

  private final int code;

  public WeirException(int code, String message) {
    super(message);
    this.code = code;
  }

  public int code() {
    return code;
  }

  /** The peer, not one region of it. */
  boolean ofPeer() {
    return code <= -200 && code > -300 || code == -9;
  }
}
