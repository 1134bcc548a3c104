/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.weir.spark.Native: gets and what has ended, many in one call. They travel
 * as 64-bit words in a direct buffer of the Java side:
 *
 *   get   space, id, off, bytes, dst, tag
 *   got   tag, code, ptr, bytes, lent, mapped
 */
#include "connectors/spark/native/handle.h"

#include <jni.h>
#include <stdlib.h>

enum { GET_WORDS = 6, GOT_WORDS = 6, AT_ONCE = 64 };

JNIEXPORT jint JNICALL Java_io_weir_spark_Native_get(JNIEnv *env, jclass c,
                                                     jlong h, jlong peer,
                                                     jobject buffer, jint n)
{
    (void)c;
    const int64_t *w = (*env)->GetDirectBufferAddress(env, buffer);
    struct weir_get gets[AT_ONCE];
    uint32_t taken = 0;
    if (n > AT_ONCE) {
        n = AT_ONCE;
    }
    for (jint i = 0; i < n; i++, w += GET_WORDS) {
        gets[i] = (struct weir_get){
            .name = {(uint64_t)w[0], (uint64_t)w[1]},
            .off = (uint64_t)w[2],
            .bytes = (uint64_t)w[3],
            .dst = (void *)(intptr_t)w[4],
            .tag = (uint64_t)w[5],
        };
    }
    weir_err rc =
        weir_fetch_get(wj_handle(h)->fetch, (weir_peer *)(intptr_t)peer, gets,
                       (uint32_t)n, &taken);
    if (rc < 0 && taken == 0) {
        wj_throw(env, rc, weir_err_text(rc));
    }
    return (jint)taken;
}

JNIEXPORT jint JNICALL Java_io_weir_spark_Native_next(JNIEnv *env, jclass c,
                                                      jlong h, jobject buffer,
                                                      jint room)
{
    (void)c;
    int64_t *w = (*env)->GetDirectBufferAddress(env, buffer);
    struct weir_got got;
    jint n = 0;
    while (n < room && weir_fetch_next(wj_handle(h)->fetch, &got) == WEIR_OK) {
        w[0] = (int64_t)got.tag;
        w[1] = got.code;
        w[2] = (int64_t)(intptr_t)got.ptr;
        w[3] = (int64_t)got.bytes;
        w[4] = (int64_t)got.lent;
        w[5] = got.mapped;
        w += GOT_WORDS;
        n++;
        if (got.code != WEIR_OK) {
            break; /* its message is the last one */
        }
    }
    return n;
}

JNIEXPORT jstring JNICALL Java_io_weir_spark_Native_error(JNIEnv *env, jclass c,
                                                          jlong h)
{
    (void)c;
    return (*env)->NewStringUTF(env, weir_fetch_error(wj_handle(h)->fetch));
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_release(JNIEnv *env, jclass c,
                                                         jlong fetch,
                                                         jlong lent)
{
    (void)env;
    (void)c;
    struct weir_got got = {.lent = (uint64_t)lent};
    weir_fetch_release((weir_fetch *)(intptr_t)fetch, &got);
}

JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_fetch(JNIEnv *env, jclass c,
                                                        jlong h)
{
    (void)env;
    (void)c;
    return (jlong)(intptr_t)wj_handle(h)->fetch;
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_copy(JNIEnv *env, jclass c,
                                                      jlong ptr, jbyteArray to,
                                                      jint at, jint bytes)
{
    (void)c;
    (*env)->SetByteArrayRegion(env, to, at, bytes,
                               (const jbyte *)(intptr_t)ptr);
}

JNIEXPORT jobject JNICALL Java_io_weir_spark_Native_wrap(JNIEnv *env, jclass c,
                                                         jlong ptr, jlong bytes)
{
    (void)c;
    return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)ptr, bytes);
}

JNIEXPORT jlong JNICALL Java_io_weir_spark_Native_allocate(JNIEnv *env,
                                                           jclass c,
                                                           jlong bytes)
{
    (void)env;
    (void)c;
    return (jlong)(intptr_t)malloc((size_t)bytes);
}

JNIEXPORT void JNICALL Java_io_weir_spark_Native_free(JNIEnv *env, jclass c,
                                                      jlong ptr)
{
    (void)env;
    (void)c;
    free((void *)(intptr_t)ptr);
}
