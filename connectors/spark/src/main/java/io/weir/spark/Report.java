// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

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

/**
 * The {@link Metrics} of all executors, asked for from the driver by a small job. From Python:
 * {@code dict(sc._jvm.io.weir.spark.Report.ofExecutors(sc._jsc))}.
 */
public final class Report {
  private Report() {}

  /** By executor; pid is the process. An executor that no task reaches is not in it. */
  public static Map<String, Map<String, Long>> ofExecutors(JavaSparkContext context) {
    SparkContext sc = context.sc();
    List<Tuple2<Integer, Seq<String>>> places = new ArrayList<>();
    Iterator<BlockManagerId> ids =
        SparkEnv.get().blockManager().master().getMemoryStatus().keysIterator();
    while (ids.hasNext()) {
      BlockManagerId id = ids.next();
      if (!id.isDriver()) {
        places.add(new Tuple2<>(places.size(), seq("executor_" + id.host() + "_" + id.executorId())));
      }
    }
    RDD<Integer> rdd =
        sc.makeRDD(JavaConverters.asScalaBuffer(places).toSeq(), ClassTag$.MODULE$.apply(Integer.class));
    Map<String, Map<String, Long>> all = new TreeMap<>();
    for (Tuple2<String, Map<String, Long>> one :
        rdd.toJavaRDD().map(i -> ofThisExecutor()).collect()) {
      all.put(one._1(), one._2());
    }
    return all;
  }

  private static Seq<String> seq(String one) {
    return JavaConverters.asScalaBuffer(List.of(one)).toSeq();
  }

  private static Tuple2<String, Map<String, Long>> ofThisExecutor() {
    Map<String, Long> m = new TreeMap<>(Metrics.ofThisProcess());
    m.put("pid", ProcessHandle.current().pid());
    return new Tuple2<>(SparkEnv.get().executorId(), m);
  }
}
