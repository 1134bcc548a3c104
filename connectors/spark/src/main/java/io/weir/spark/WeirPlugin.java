// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.util.Map;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** Metrics of executors, where Spark shows its own: spark.plugins=io.weir.spark.WeirPlugin. */
public final class WeirPlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> extra) {
        Metrics.ME.register(context.metricRegistry());
      }
    };
  }
}
