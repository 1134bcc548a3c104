/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/keep.h"

#include <stdlib.h>

#include "services/scan/fail.h"
#include "services/scan/job.h"

void wi_scan_keep_init(struct wi_scan_keep *keep)
{
    *keep = (struct wi_scan_keep){.list = NULL};
    (void)pthread_mutex_init(&keep->lock, NULL);
}

void wi_scan_keep_fini(struct wi_scan_keep *keep)
{
    while (keep->list != NULL) {
        struct wi_scan_kept *kept = keep->list;
        keep->list = kept->next;
        kept->keeper.close(kept->what);
        free(kept);
    }
    (void)pthread_mutex_destroy(&keep->lock);
}

static struct wi_scan_kept *find(const struct wi_scan_keep *keep,
                                 const void *arg)
{
    struct wi_scan_kept *kept = keep->list;
    while (kept != NULL && kept->keeper.arg != arg) {
        kept = kept->next;
    }
    return kept;
}

static weir_err make(struct wi_scan_keep *keep,
                     const struct weir_scan_keeper *keeper,
                     struct weir_error *err)
{
    struct wi_scan_kept *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a client");
    }
    *kept = (struct wi_scan_kept){.next = keep->list, .keeper = *keeper};
    weir_err code = keeper->make(keeper->arg, &kept->what, err);
    if (code != WEIR_OK) {
        free(kept);
        return code;
    }
    keep->list = kept;
    return WEIR_OK;
}

weir_err weir_scan_job_keep(weir_scan_job *job,
                            const struct weir_scan_keeper *keeper,
                            void **kept_out, struct weir_error *err)
{
    if (keeper == NULL || kept_out == NULL || keeper->make == NULL ||
        keeper->close == NULL) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "%s is NULL",
                            keeper == NULL         ? "keeper"
                            : kept_out == NULL     ? "kept_out"
                            : keeper->make == NULL ? "keeper->make"
                                                   : "keeper->close");
    }
    struct wi_scan_keep *keep = job != NULL ? job->keep : NULL;
    weir_err code = WEIR_OK;
    *kept_out = NULL;
    if (keep == NULL) {
        return WEIR_OK;
    }
    (void)pthread_mutex_lock(&keep->lock);
    if (find(keep, keeper->arg) == NULL) {
        code = make(keep, keeper, err);
    }
    if (code == WEIR_OK) {
        *kept_out = find(keep, keeper->arg)->what;
    }
    (void)pthread_mutex_unlock(&keep->lock);
    return code;
}
