/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/stream.h"

#include "core/link/in_end.h"
#include "core/link/in_ring.h"
#include "core/link/scan.h"
#include "core/link/send.h"

static void send_stop(struct wi_in *in, uint32_t worker)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_EDGE_STOP);
    m.edge.edge = in->edge;
    m.edge.epoch = in->epoch;
    m.edge.arg = worker;
    wi_link_send(in->link, &m);
}

/* The last stream that expected frames is over: nobody reads the ring. */
static void stop_ring(struct wi_in *in)
{
    /* rlx: only the engine sets dead. E10 acquire: streams' ends; pairs with
     * E10 in wi_stream_ended() */
    bool over = wi_load_rlx(&in->dead) != 0 ||
                wi_load_acq(&in->n_ended) == in->n_streams;
    if (!over) {
        wi_in_stop(in);
    }
    wi_in_finish_when_empty(in);
}

void wi_stream_stop(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    /* E10 sc: the dispatcher drops its frames from now on; pairs with E10 in
     * deliver() and sweep() */
    if (wi_xchg_sc(&st->gone, 1) != 0) {
        return;
    }
    if (in->consumer_worker == WI_ANY_WORKER &&
        wi_load_rlx(&in->common) == NULL) { /* rlx: engine's */
        wi_in_dispatch(in); /* releases what was dispatched to it */
    }
    if (wi_load_rlx(&st->ended)) { /* rlx: the reader's worker is with us */
        return;                    /* counted when it ended */
    }
    if (wi_add_ar(&in->live, -1u) == 1) { /* E10: the last one */
        stop_ring(in);
    } else if (wi_load_rlx(&in->dead) == 0) { /* rlx: engine's */
        send_stop(in, st->worker);
    }
}

void wi_stream_ended(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    wi_store_rlx(&st->ended, true); /* rlx: its worker's; reports look at it */
    (void)wi_add_ar(&in->n_ended, 1); /* E10: before live; stop_ring() reads */
    if (wi_add_ar(&in->live, -1u) == 1) { /* E10: the last one */
        wi_in_finish_when_empty(in);
    }
}

void wi_in_refuse(struct wi_in *in)
{
    for (uint32_t i = 0; i < in->n_streams; i++) {
        wi_stream_stop(&in->streams[i]);
    }
}

void wi_stream_detach(struct wi_stream *st)
{
    struct wi_in *in = st->in;
    wi_stream_stop(st);
    /* E9: workers under RCU may still hold it; freed after them */
    wi_store_rel(&st->reader, NULL);
    wi_list_remove(&st->ready);
    wi_list_remove(&st->owing);
    wi_list_remove(&st->full);
    if (in->empty) {
        wi_in_finish(in); /* this may have been the last reader */
    }
}
