// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

/** Blocks of a request that have come, or will not. */
final class Done {
  final Request request;
  final Request.Block[] blocks;

  /** Null: the bytes are there. */
  final Request.Failure failure;

  /** The whole peer is lost. */
  final boolean ofPeer;

  long ptr;
  long bytes;
  long lent;

  /** Of the pool, instead of lent; 0: not. */
  long pooled;

  boolean mapped;

  private Done(
      Request request, Request.Block[] blocks, Request.Failure failure, boolean ofPeer) {
    this.request = request;
    this.blocks = blocks;
    this.failure = failure;
    this.ofPeer = ofPeer;
  }

  static Done came(Request r, Request.Block[] blocks) {
    return new Done(r, blocks, null, false);
  }

  static Done failed(Request r, Request.Block[] blocks, Metrics.Reason reason, String message) {
    return new Done(r, blocks, new Request.Failure(reason, message), false);
  }

  static Done failed(Request r, WeirException e) {
    return failed(r, r.blocks, e);
  }

  static Done failed(Request r, Request.Block[] blocks, WeirException e) {
    Metrics.Reason reason =
        e.code() == WeirException.NOT_FOUND
            ? Metrics.Reason.NOT_PUBLISHED
            : e.ofPeer() ? Metrics.Reason.LOST : Metrics.Reason.FAILED;
    return new Done(
        r, blocks, new Request.Failure(reason, e.getMessage()), reason == Metrics.Reason.LOST);
  }
}
