/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.weir.spark.Native: the node of an executor, its regions and its peers.
 * Nothing here keeps a reference to a Java object.
 */
#include "connectors/spark/native/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <jni.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Order of the array of numbers that open() takes; Native.java has the same. */
enum {
    N_MAX_PEERS,
    N_MEMORY_BYTES,
    N_FETCH_BYTES,
    N_TIMEOUT_NS,
    N_DETECT_NS,
    N_TLS,
    N_COUNT,
};

/* Order of its array of texts. */
enum { T_TRANSPORT, T_LISTEN, T_ADVERTISE, T_NAME, T_COUNT };

struct secret {
    uint32_t len;
    uint8_t bytes[256];
};

void wj_throw(void *env_in, weir_err code, const char *message)
{
    JNIEnv *env = env_in;
    jclass c = (*env)->FindClass(env, "io/weir/spark/WeirException");
    if (c == NULL) {
        return; /* that is thrown then */
    }
    jmethodID make =
        (*env)->GetMethodID(env, c, "<init>", "(ILjava/lang/String;)V");
    jstring text = (*env)->NewStringUTF(env, message);
    if (make == NULL || text == NULL) {
        return;
    }
    jthrowable t = (*env)->NewObject(env, c, make, (jint)code, text);
    if (t != NULL) {
        (void)(*env)->Throw(env, t);
    }
}

static void throw_error(JNIEnv *env, const struct weir_error *err)
{
    wj_throw(env, err->code, err->message);
}

static uint32_t give_secret(void *arg, uint32_t which, void *bytes,
                            uint32_t room)
{
    const struct secret *s = arg;
    if (which != 0 || s->len > room) {
        return 0;
    }
    memcpy(bytes, s->bytes, s->len);
    return s->len;
}

/* ---- opening ------------------------------------------------------------- */

static void free_handle(struct wj_handle *h)
{
    weir_fetch_close(h->fetch);
    weir_node_close(h->node);
    if (h->wake_fd >= 0) {
        (void)close(h->wake_fd);
    }
    free(h);
}

static weir_err fill(struct wj_handle *h, const struct weir_node_params *p,
                     const jlong *numbers, struct weir_error *err)
{
    weir_err rc = weir_node_open(p, &h->node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_fetch_params f = {
        .max_bytes = (uint64_t)numbers[N_FETCH_BYTES],
        .timeout_ns = (uint64_t)numbers[N_TIMEOUT_NS],
    };
    rc = weir_fetch_open(h->node, &f, &h->fetch, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    h->worker_fd = weir_worker_fd(h->node, 0);
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (h->worker_fd < 0 || h->wake_fd < 0) {
        err->code = WEIR_ERR_SYSTEM;
        strcpy(err->message, "no descriptor to sleep on; raise \"ulimit -n\"");
        return WEIR_ERR_SYSTEM;
    }
    return WEIR_OK;
}

static struct wj_handle *make(const struct weir_node_params *p,
                              const jlong *numbers, struct weir_error *err)
{
    struct wj_handle *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        err->code = WEIR_ERR_NO_MEMORY;
        strcpy(err->message, "no memory for a node");
        return NULL;
    }
    h->wake_fd = -1;
    if (fill(h, p, numbers, err) != WEIR_OK) {
        free_handle(h);
        return NULL;
    }
    return h;
}

/* Texts that may be null; what was taken is released by drop_texts(). */
static int take_texts(JNIEnv *env, jobjectArray from, const char **texts)
{
    for (jsize i = 0; i < T_COUNT; i++) {
        jstring s = (*env)->GetObjectArrayElement(env, from, i);
        texts[i] = NULL;
        if (s == NULL) {
            continue;
        }
        const char *chars = (*env)->GetStringUTFChars(env, s, NULL);
        texts[i] = chars == NULL ? NULL : strdup(chars);
        if (chars != NULL) {
            (*env)->ReleaseStringUTFChars(env, s, chars);
        }
        (*env)->DeleteLocalRef(env, s);
        if (texts[i] == NULL) {
            return 0;
        }
    }
    return 1;
}

static void drop_texts(const char **texts)
{
    for (int i = 0; i < T_COUNT; i++) {
        free((void *)(uintptr_t)texts[i]);
    }
}

static struct wj_handle *open_with(JNIEnv *env, const char **texts,
                                   const jlong *numbers, jbyteArray secret,
                                   struct weir_error *err)
{
    struct secret s = {0};
    struct weir_identity identity = {.secret = give_secret, .secret_arg = &s};
    struct weir_node_params p = {
        .transport = texts[T_TRANSPORT],
        .listen = texts[T_LISTEN],
        .advertise = texts[T_ADVERTISE],
        .name = texts[T_NAME],
        .max_members = 1,
        .max_shuffles = 1,
        .max_peers = (uint64_t)numbers[N_MAX_PEERS],
        .memory_bytes = (uint64_t)numbers[N_MEMORY_BYTES],
        .detect_ns = (uint64_t)numbers[N_DETECT_NS],
    };
    if (secret != NULL) {
        jsize len = (*env)->GetArrayLength(env, secret);
        s.len = len > (jsize)sizeof(s.bytes) ? sizeof(s.bytes) : (uint32_t)len;
        (*env)->GetByteArrayRegion(env, secret, 0, (jsize)s.len,
                                   (jbyte *)s.bytes);
        identity.tls_psk = numbers[N_TLS] != 0;
        identity.plain = !identity.tls_psk;
        p.identity = &identity;
    }
    struct wj_handle *h = make(&p, numbers, err);
    explicit_bzero(&s, sizeof(s));
    return h;
}

JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_open(JNIEnv *env, jclass c,
                                                       jobjectArray texts_in,
                                                       jlongArray numbers_in,
                                                       jbyteArray secret)
{
    (void)c;
    const char *texts[T_COUNT] = {NULL};
    jlong numbers[N_COUNT];
    struct weir_error err = {.code = WEIR_ERR_NO_MEMORY,
                             .message = "no memory for options"};
    struct wj_handle *h = NULL;
    (*env)->GetLongArrayRegion(env, numbers_in, 0, N_COUNT, numbers);
    if (!(*env)->ExceptionCheck(env) && take_texts(env, texts_in, texts)) {
        h = open_with(env, texts, numbers, secret, &err);
    }
    drop_texts(texts);
    if (h == NULL && !(*env)->ExceptionCheck(env)) {
        throw_error(env, &err);
    }
    return (jlong)(intptr_t)h;
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_close(JNIEnv *env, jclass c,
                                                       jlong h)
{
    (void)env;
    (void)c;
    free_handle(wj_handle(h));
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_closeFetch(JNIEnv *env,
                                                            jclass c, jlong h)
{
    (void)env;
    (void)c;
    weir_fetch_close(wj_handle(h)->fetch);
    wj_handle(h)->fetch = NULL;
}

JNIEXPORT jstring JNICALL Java_io_weir_spark_Native_address(JNIEnv *env,
                                                            jclass c, jlong h)
{
    (void)c;
    return (*env)->NewStringUTF(env, weir_node_address(wj_handle(h)->node));
}

/* ---- regions ------------------------------------------------------------- */

static jlong publish(JNIEnv *env, weir_node *node,
                     const struct weir_region_params *p,
                     const struct weir_name *name)
{
    struct weir_error err;
    weir_region *r = NULL;
    if (weir_region_open(node, p, &r, &err) != WEIR_OK) {
        throw_error(env, &err);
        return 0;
    }
    if (weir_region_publish(r, name, &err) != WEIR_OK) {
        weir_region_close(r);
        throw_error(env, &err);
        return 0;
    }
    return (jlong)(intptr_t)r;
}

/* Spark removes its files, and never shortens them. */
JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_publishFile(
    JNIEnv *env, jclass c, jlong h, jstring path, jlong bytes, jlong space,
    jlong id)
{
    (void)c;
    const char *chars = (*env)->GetStringUTFChars(env, path, NULL);
    if (chars == NULL) {
        return 0;
    }
    int fd = open(chars, O_RDONLY | O_CLOEXEC);
    int why = errno;
    (*env)->ReleaseStringUTFChars(env, path, chars);
    if (fd < 0) {
        wj_throw(env, WEIR_ERR_SYSTEM, strerror(why));
        return 0;
    }
    struct weir_region_params p = {.kind = WEIR_REGION_FILE,
                                   .fd = fd,
                                   .bytes = (uint64_t)bytes,
                                   .constant = 1};
    struct weir_name name = {(uint64_t)space, (uint64_t)id};
    jlong region = publish(env, wj_handle(h)->node, &p, &name);
    (void)close(fd);
    return region;
}

JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_publishMemory(
    JNIEnv *env, jclass c, jlong h, jlong bytes, jlong space, jlong id)
{
    (void)c;
    struct weir_region_params p = {.bytes = (uint64_t)bytes};
    struct weir_name name = {(uint64_t)space, (uint64_t)id};
    return publish(env, wj_handle(h)->node, &p, &name);
}

JNIEXPORT jobject JNICALL Java_io_weir_spark_Native_memory(JNIEnv *env,
                                                           jclass c, jlong r)
{
    (void)c;
    weir_region *region = (weir_region *)(intptr_t)r;
    return (*env)->NewDirectByteBuffer(env, weir_region_base(region),
                                       (jlong)weir_region_bytes(region));
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_revoke(JNIEnv *env, jclass c,
                                                        jlong r)
{
    (void)env;
    (void)c;
    weir_region_close((weir_region *)(intptr_t)r);
}

/* ---- peers --------------------------------------------------------------- */

JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_peer(JNIEnv *env, jclass c,
                                                       jlong h, jstring address)
{
    (void)c;
    struct weir_error err;
    weir_peer *peer = NULL;
    const char *chars = (*env)->GetStringUTFChars(env, address, NULL);
    if (chars == NULL) {
        return 0;
    }
    weir_err rc = weir_peer_open(wj_handle(h)->node, chars, &peer, &err);
    (*env)->ReleaseStringUTFChars(env, address, chars);
    if (rc != WEIR_OK) {
        throw_error(env, &err);
    }
    return (jlong)(intptr_t)peer;
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_closePeer(JNIEnv *env,
                                                           jclass c, jlong p)
{
    (void)env;
    (void)c;
    weir_peer_close((weir_peer *)(intptr_t)p);
}

/* ---- sleeping ------------------------------------------------------------ */

JNIEXPORT jboolean JNICALL Java_io_weir_spark_Native_arm(JNIEnv *env, jclass c,
                                                         jlong h)
{
    (void)env;
    (void)c;
    return weir_worker_arm(wj_handle(h)->node, 0) == WEIR_OK;
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_sleep(JNIEnv *env, jclass c,
                                                       jlong h)
{
    (void)env;
    (void)c;
    uint64_t count;
    struct pollfd fds[2] = {{wj_handle(h)->worker_fd, POLLIN, 0},
                            {wj_handle(h)->wake_fd, POLLIN, 0}};
    if (poll(fds, 2, -1) > 0 && fds[1].revents != 0) {
        (void)!read(fds[1].fd, &count, sizeof(count));
    }
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_wake(JNIEnv *env, jclass c,
                                                      jlong h)
{
    (void)env;
    (void)c;
    uint64_t one = 1;
    (void)!write(wj_handle(h)->wake_fd, &one, sizeof(one));
}
