// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Where blocks lie, as the tracker says; on the way it tells the fabric of its peers. */
final class Addresses
    extends AbstractIterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> {
  private final Fabric fabric; /* null: there is none */
  private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> from;

  Addresses(
      Fabric fabric,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> from) {
    this.fabric = fabric;
    this.from = from;
  }

  @Override
  public boolean hasNext() {
    return from.hasNext();
  }

  @Override
  public Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> next() {
    Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> t = from.next();
    Option<String> topology = t._1().topologyInfo();
    if (fabric != null && topology.isDefined()) {
      fabric.meet(t._1().executorId(), topology.get());
    }
    return t;
  }
}
