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
   * As Spark does: with its own secret alone nodes prove to each other that they know it; where it
   * encrypts what it sends, tcp is TLS by that secret. RDMA has no encryption, and without a secret
   * there is no TLS: blocks stay in the host then, unless they are encrypted themselves
   * (spark.io.encryption).
   */
  static Options check(Options options, SparkConf conf, byte[] secret) throws IOException {
    boolean encrypts =
        conf.getBoolean("spark.network.crypto.enabled", false)
            || conf.getBoolean("spark.authenticate.enableSaslEncryption", false)
            || conf.getBoolean("spark.ssl.rpc.enabled", false);
    if (!encrypts || options.transport.equals("shm")) {
      return options;
    }
    boolean verbs = options.transport.equals("verbs");
    if (secret != null && !verbs) {
      return options.withTls();
    }
    if (conf.getBoolean("spark.io.encryption.enabled", false)) {
      return options;
    }
    if (verbs || options.transport.equals("tcp")) {
      throw new IOException(
          "Spark encrypts what it sends, and Weir "
              + (verbs ? "does not over verbs" : "does so by the secret of spark.authenticate alone")
              + ": set spark.weir.transport to "
              + (verbs ? "tcp or shm" : "shm, spark.authenticate")
              + ", or spark.io.encryption.enabled");
    }
    LOG.info("Weir: shm alone, as Spark encrypts what it sends, without a secret");
    return options.with("shm");
  }
}
