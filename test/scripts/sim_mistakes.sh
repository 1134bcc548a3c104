#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does `weir sim` find what it is there for? One mistake at a time is made in a
# copy of a source, the `weir` command is linked with it, and a bounded number
# of seeds has to fail. Takes a build folder (ninja) and perhaps the names of
# mistakes; some ten minutes on two processors.
set -eu
build=$(cd "${1:?usage: $(basename "$0") BUILD_DIR [NAME]...}" && pwd)
shift
only=" $* "
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
missed=0
made=0

# How ninja makes a target: the last command that it would run.
command_of() {
    ninja -C "$build" -t commands "$1" | tail -n 1
}

# compile <source>: the changed copy of it, in $tmp/tree, into $tmp/x.o
compile() {
    object=CMakeFiles/weir_objects.dir/$1.o
    command_of "$object" |
        sed -e "s# -MF [^ ]*# -MF $tmp/x.d#" -e "s# -o [^ ]*# -o $tmp/x.o#" \
            -e "s# -c [^ ]*# -c $tmp/tree/$1 -w#" >"$tmp/compile"
    (cd "$build" && sh "$tmp/compile")
}

# The command with $tmp/x.o in place of that source's object.
link() {
    object=CMakeFiles/weir_objects.dir/$1.o
    command_of libweir.a | tr ' ' '\n' | grep '\.o$' | grep -vx "$object" \
        >"$tmp/objects"
    rm -f "$tmp/libweir.a"
    (cd "$build" && xargs ar qc "$tmp/libweir.a" "$tmp/x.o" <"$tmp/objects")
    command_of weir | sed -e "s# libweir\.a# $tmp/libweir.a#g" \
        -e "s# -o weir # -o $tmp/weir #" >"$tmp/link"
    (cd "$build" && sh "$tmp/link")
}

# mistake <name> <seeds> <source> <function> <sed script> [option]...
# The script is run over that function alone; options are those of weir sim.
mistake() {
    name=$1
    seeds=$2
    source=$3
    function=$4
    script=$5
    shift 5
    case $only in
    "  " | *" $name "*) ;;
    *) return 0 ;;
    esac
    made=$((made + 1))
    mkdir -p "$tmp/tree/$(dirname "$source")"
    sed "/^[a-z].*[ *]$function(/,/^}/{
$script
}" "$root/$source" >"$tmp/tree/$source"
    if cmp -s "$root/$source" "$tmp/tree/$source"; then
        echo "$name: $source has changed, and the mistake was not made"
        missed=$((missed + 1))
        return 0
    fi
    compile "$source"
    link "$source"
    if ! "$build/weir" sim --seeds "1..$seeds" --as-is "$@" >"$tmp/out" 2>&1
    then
        echo "$name: fails without the mistake:"
        cat "$tmp/out"
        exit 1
    fi
    if "$tmp/weir" sim --seeds "1..$seeds" --as-is "$@" >"$tmp/out" 2>&1; then
        echo "$name: NOT FOUND in $seeds seeds"
        missed=$((missed + 1))
    else
        echo "$name: $(grep '^seed ' "$tmp/out" | head -n 1 | cut -c 1-150)"
    fi
}

# ---- of rings ----------------------------------------------------------------

mistake space_given_back_while_held 500 core/link/in_ring.c advance_once \
    's/wi_load_acq(&h->released) == 0/false/' --faults none
mistake credit_of_what_is_not_read 500 core/link/post.c post_in \
    's/wi_load_acq(&in->ctl->head)/wi_load_acq(\&in->ctl->tail)/' --faults none
mistake room_that_wakes_nobody 500 core/link/post.c reap \
    's/wi_worker_notify(p->out->worker, WI_ATTN_SPACE);//' --faults none
mistake ring_that_is_open_wakes_nobody 500 core/link/edge_out.c place_one \
    's/wi_worker_notify(o->worker, WI_ATTN_EVENT);//' --faults none
mistake data_that_wakes_nobody 500 core/link/edge_in.c wi_in_on_notify \
    's/wi_in_mark(in, in->consumer_worker);//' --faults none
mistake units_that_stay_in_use 500 core/link/in_end.c wi_in_over \
    's/wi_bitmap_mark(l->used, in->edge, in->units, false);//' --faults none
mistake late_stop_of_a_node_ring 10000 core/link/in_end.c wi_in_over \
    's/wi_in_stop(in);//' --faults stop,hold

# ---- of frames ---------------------------------------------------------------

mistake checksum_that_is_not_compared 2000 core/format/frame_check.c \
    wi_frame_export 's/if (h->checksum != 0/if (false/' --faults damage

# ---- of queries --------------------------------------------------------------

mistake failure_that_is_not_passed_on 1000 core/query/query_fail.c \
    wi_query_fail 's/tell_members(q, code, text);//' --faults cancel,fail,cut
mistake every_member_a_judge 2000 core/query/judge.c ask_for \
    's/judge(q->members, q->lost)/q->engine->self/' --faults cut,crash
mistake cause_of_who_has_closed 5000 core/query/query_open.c weir_query_close \
    's/ \!wi_query_asks(query)/ (\!wi_query_asks(query) ||\
    (wi_query_call_off(query, query->report.code, query->report.message),\
    false))/' --faults cut --plan random
mistake late_member_that_is_not_told 4000 core/query/agree.c answer_closed \
    's/over_unserved(l, t);/(void)over_unserved;/' --faults drop,cut \
    --plan random
mistake dead_links_that_stay 5000 core/query/query_fail.c \
    wi_query_stop_strays 's/&e->dead)/\&e->strays)/
    s/stop_on_link(wi_container_of.*;/(void)n;/' --faults drop,cut

# ---- of links ----------------------------------------------------------------

mistake silence_that_nobody_notices 500 core/link/life.c tick_open \
    's/now_ns - l->last_rx_ns > cfg->detect_ns/false/' --faults crash
mistake memory_beyond_the_cap 2000 core/link/engine.c wi_engine_area_open \
    's/e->mem_bytes + bytes > e->budget.rings_cap_bytes/false/' \
    --faults cut

mistake link_refused_to_who_has_left 10000 core/link/handshake.c may_be_here \
    's/e->up->knows/e->up->needs/' --faults leave,stop

# ---- of peers that break the rules -------------------------------------------

mistake credit_of_what_was_not_sent 5000 core/link/edge_out.c \
    wi_out_on_credit 's/m->pos > tail ||//' --faults hostile
mistake credit_that_goes_back 5000 core/link/edge_out.c wi_out_on_credit \
    's/|| m->pos < had//' --faults hostile
mistake notice_beyond_the_credit 5000 core/link/edge_in.c wi_in_on_notify \
    's/m->pos - head > in->size/false/' --faults hostile
mistake notice_that_goes_back 10000 core/link/edge_in.c wi_in_on_notify \
    's/m->pos < tail ||//' --faults hostile
mistake ring_over_another 5000 core/link/edge_in.c check_open \
    's/ || wi_bitmap_test(l->used, i)//' --faults hostile
mistake ring_beyond_the_area 5000 core/link/edge_in.c check_open \
    's/end > l->area.bytes ||/false ||/
    s/i < m->edge + units/i < m->edge + 1/' --faults hostile
mistake edge_of_no_unit 5000 core/link/edge_out.c wi_out_on_closed \
    's/m->edge < l->peer_units ? l->out\[m->edge\] : NULL/l->out[m->edge]/' \
    --faults hostile
mistake failure_told_by_no_member 5000 core/query/query_fail.c \
    wi_query_on_fail 's/q != NULL && wi_query_has(q, l->member)/q != NULL/' \
    --faults hostile
mistake loss_that_is_not_logged 500 core/link/life.c report_loss \
    's/wi_warn(e, l->member, WI_CAUSE_LOST,/(void)snprintf(NULL, 0,/' \
    --faults hostile
mistake loss_without_a_name 500 core/query/lost.c wi_query_peer_lost \
    's/"peer %s (member %u, %.80s): ", m->name,/"(member %u, %.80s): ",/' \
    --faults hostile

echo "$((made - missed)) of $made mistakes found"
[ $missed -eq 0 ]
