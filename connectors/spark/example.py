# SPDX-License-Identifier: Apache-2.0
# A job with one shuffle, for spark-submit: words by how often they come, and
# how many of their bytes came over Weir.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("weir").getOrCreate()
sc = spark.sparkContext
numbers = sc.parallelize(range(200000), 8)
words = numbers.map(lambda i: ("word%d" % (i % 997), 1))
counts = dict(words.reduceByKey(lambda a, b: a + b, 8).collect())
assert len(counts) == 997 and sum(counts.values()) == 200000
report = sc._jvm.io.weir.spark.Report.ofExecutors(sc._jsc)
print("997 words, 200000 times;", report)
spark.stop()
