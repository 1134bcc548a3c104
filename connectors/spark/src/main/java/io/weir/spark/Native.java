// SPDX-License-Identifier: Apache-2.0
package io.weir.spark;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.spark.SparkEnv;

/**
 * libweir, as connectors/spark/native has it. What takes a handle is used under
 * {@link Fabric}'s lock, but for what says otherwise.
 */
final class Native {
  /** Words of a get, and of what has ended, in direct buffers. */
  static final int GET_WORDS = 6;

  static final int GOT_WORDS = 6;

  /** Gets that one call takes. */
  static final int AT_ONCE = 64;

  /** Operations of a fetch, under way or lent (weir/fetch.h). */
  static final int MAX_OPS = 1024;

  private static Throwable why;
  private static boolean loaded;

  private Native() {}

  /** Load the library, once. */
  static synchronized void load(String path) throws IOException {
    if (!loaded && why == null) {
      try {
        if (path != null) {
          System.load(path);
        } else {
          loadOwn();
        }
        loaded = true;
      } catch (IOException | LinkageError e) {
        why = e;
      }
    }
    if (!loaded) {
      throw new IOException("no native library: " + why.getMessage(), why);
    }
  }

  /**
   * Out of the jar, by a file that is gone once it is loaded. Who is killed meanwhile leaves it
   * where Spark clears up after its executors.
   */
  private static void loadOwn() throws IOException {
    String name = "/weir-native/" + System.getProperty("os.arch") + "/libweir_spark.so";
    try (InputStream in = Native.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException("the jar has none for " + System.getProperty("os.arch"));
      }
      Path file = Files.createTempFile(folder(), "libweir_spark", ".so");
      try {
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toString());
      } finally {
        Files.delete(file);
      }
    }
  }

  private static Path folder() {
    SparkEnv env = SparkEnv.get();
    File[] local = env == null ? new File[0] : env.blockManager().diskBlockManager().localDirs();
    return local.length > 0 ? local[0].toPath() : Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * @param texts transport, listen, advertise, name; each may be null
   * @param numbers max_peers, memory_bytes, bytes of the fetch, its timeout_ns, detect_ns, 1: TLS
   *     by the secret
   * @param secret 32 to 256 bytes, or null
   */
  static native long open(String[] texts, long[] numbers, byte[] secret) throws WeirException;

  /** Nothing that it lent may be looked at afterwards. */
  static native void close(long handle);

  static native void closeFetch(long handle);

  static native long fetch(long handle);

  /** Any thread. */
  static native String address(long handle);

  /** Any thread, as all of regions. */
  static native long publishFile(long handle, String path, long bytes, long space, long id)
      throws WeirException;

  static native long publishMemory(long handle, long bytes, long space, long id)
      throws WeirException;

  static native ByteBuffer memory(long region);

  static native void revoke(long region);

  static native long peer(long handle, String address) throws WeirException;

  static native void closePeer(long peer);

  /** How many of the first n gets were taken. */
  static native int get(long handle, long peer, ByteBuffer gets, int n) throws WeirException;

  /** How much has ended; nothing after an error, of which error() tells. */
  static native int next(long handle, ByteBuffer gots, int room);

  static native String error(long handle);

  /** Any thread, until close(). */
  static native void release(long fetch, long lent);

  static native void copy(long ptr, byte[] to, int at, int bytes);

  static native ByteBuffer wrap(long ptr, long bytes);

  /** Any thread; 0: there is none. */
  static native long allocate(long bytes);

  static native void free(long ptr);

  /** True: sleep() may be called now, without the lock. */
  static native boolean arm(long handle);

  static native void sleep(long handle);

  /** Any thread. */
  static native void wake(long handle);
}
