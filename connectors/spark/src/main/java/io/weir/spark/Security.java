// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What Spark's own security asks of Weir. */
final class Security {
  private static final Logger LOG = LoggerFactory.getLogger(Security.class);

  private Security() {}

  /**
   * Of spark.authenticate's secret, not the secret itself, as the hexadecimal text that a
   * secret_file has; null: there is none.
   */
  static byte[] secret() throws IOException {
    SecurityManager manager = SparkEnv.get().securityManager();
    if (!manager.isAuthenticationEnabled()) {
      return null;
    }
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      sha.update("weir spark shuffle\0".getBytes(StandardCharsets.UTF_8));
      byte[] digest = sha.digest(manager.getSecretKey().getBytes(StandardCharsets.UTF_8));
      return String.format("%064x", new BigInteger(1, digest)).getBytes(StandardCharsets.UTF_8);
    } catch (NoSuchAlgorithmException e) {
      throw new IOException(e);
    }
  }

  /**
   * Weir does not encrypt. Where Spark is told to, and the blocks themselves are not
   * (spark.io.encryption), they stay in the host.
   */
  static Options check(Options options, SparkConf conf) throws IOException {
    boolean encrypts =
        conf.getBoolean("spark.network.crypto.enabled", false)
            || conf.getBoolean("spark.authenticate.enableSaslEncryption", false)
            || conf.getBoolean("spark.ssl.rpc.enabled", false);
    if (!encrypts || conf.getBoolean("spark.io.encryption.enabled", false)) {
      return options;
    }
    if (options.transport.equals("tcp") || options.transport.equals("verbs")) {
      throw new IOException(
          "Spark encrypts what it sends, and Weir does not: set spark.io.encryption.enabled, or"
              + " spark.weir.transport to shm");
    }
    LOG.info("Weir: shm alone, as Spark encrypts what it sends");
    return options.with("shm");
  }
}
