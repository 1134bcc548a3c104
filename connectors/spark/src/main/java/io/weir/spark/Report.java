// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * The {@link Metrics} of all executors, asked for from the driver by small jobs. From Python:
 * {@code dict(sc._jvm.io.weir.spark.Report.ofExecutors(sc._jsc))}.
 *
 * <p>A job has one task: of several, Spark may run one again on another executor ({@code
 * spark.speculation}), which would answer for itself then.
 */
public final class Report {
  private Report() {}

  /** By executor; pid is the process. An executor that no task reaches is not in it. */
  public static Map<String, Map<String, Long>> ofExecutors(JavaSparkContext context) {
    SparkContext sc = context.sc();
    List<String> places = new ArrayList<>();
    Iterator<BlockManagerId> ids =
        SparkEnv.get().blockManager().master().getMemoryStatus().keysIterator();
    while (ids.hasNext()) {
      BlockManagerId id = ids.next();
      if (!id.isDriver()) {
        places.add("executor_" + id.host() + "_" + id.executorId());
      }
    }
    Map<String, Map<String, Long>> all = new TreeMap<>();
    for (String place : places) {
      Object[] found = (Object[]) at(sc, place).map(new Look(), ClassTag$.MODULE$.AnyRef()).collect();
      @SuppressWarnings("unchecked")
      Tuple2<String, Map<String, Long>> t = (Tuple2<String, Map<String, Long>>) found[0];
      all.put(t._1(), t._2());
    }
    return all;
  }

  /** Lines of Spark differ in whose Seq it is. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private static RDD<Integer> at(SparkContext sc, String place) {
    scala.collection.immutable.Seq one =
        JavaConverters.asScalaBuffer((List) List.of(new Tuple2<>(0, seq(place)))).toList();
    return sc.makeRDD(one, ClassTag$.MODULE$.apply(Integer.class));
  }

  private static Seq<String> seq(String one) {
    return JavaConverters.asScalaBuffer(List.of(one)).toList();
  }

  private static final class Look extends AbstractFunction1<Integer, Object>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public Object apply(Integer place) {
      Map<String, Long> m = new TreeMap<>(Metrics.ofThisProcess());
      m.put("pid", ProcessHandle.current().pid());
      return new Tuple2<>(SparkEnv.get().executorId(), m);
    }
  }
}
