#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the checks: each passes on a small clean tree and reports a violation
# that is planted in it.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
cd "$tmp"
bad=$tmp/report
touch "$bad"
planted=0

# A tree that breaks no rule.
clean_tree() {
    rm -rf tree
    mkdir -p tree/include/weir tree/core/base tree/core/ring \
        tree/transport/tcp tree/docs tree/tools tree/examples
    cat >tree/include/weir/error.h <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
/** Codes. */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H
#define WEIR_API __attribute__((visibility("default")))
#ifdef __cplusplus
extern "C" {
#endif

/**
 * One.
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API int weir_one(const char *text_of_at_least_some_length,
                      int number_of_the_one);
WEIR_API const char *weir_two(void);

#ifdef __cplusplus
}
#endif
#endif /* WEIR_ERROR_H */
C
    cat >tree/core/base/atomic.h <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_ATOMIC_H
#define WI_ATOMIC_H
#include <stdatomic.h>
#define wi_load_acq(p) atomic_load_explicit((p), memory_order_acquire)
#define wi_store_rel(p, v) atomic_store_explicit((p), (v), memory_order_release)
#endif
C
    cat >tree/core/ring/ring.h <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_RING_H
#define WI_RING_H
#include "core/base/atomic.h"
struct wi_ring {
    _Atomic int head;
};
int wi_ring_peek(struct wi_ring *r);
#endif
C
    cat >tree/core/ring/ring.c <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring.h"

#include <weir/error.h>

int weir_one(const char *text, int number)
{
    return text[0] + number;
}

const char *weir_two(void)
{
    return "sleep( \" /* memory_order_relaxed";
}

int wi_ring_peek(struct wi_ring *r);

int wi_ring_peek(struct wi_ring *r)
{
    /* E1 acquire: the head; pairs with E1 release in
     * somewhere that takes
     * a comment of
     * many lines */
    return wi_load_acq(&r->head);
}

void wi_ring_put(struct wi_ring *r);

void wi_ring_put(struct wi_ring *r)
{
    /* E1 release: the head; pairs with E1 acquire in wi_ring_peek() */
    wi_store_rel(&r->head, 1);
}
C
    cat >tree/transport/tcp/tcp.h <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_TCP_H
#define WI_TCP_H
int wi_tcp_open(void);
#endif
C
    cat >tree/examples/one.c <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/error.h>

int main(void)
{
    return weir_one("", 0);
}
C
    mkdir -p tree/test/unit/args
    cat >tree/test/unit/args/one_test.c <<'C'
/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/error.h>
#define CODE(fn, arg, ...) fn(__VA_ARGS__)

int main(void)
{
    return CODE(weir_one, text_of_at_least_some_length, "", 0);
}
C
    cat >tree/docs/concurrency.md <<'C'
| edge | what |
| --- | --- |
| E1 | head |
C
    cp "$scripts/../../docs/Doxyfile" tree/docs/
    cp "$scripts/../../.clang-format" tree/
}

# run <check>: against the tree, result in $status, output in $tmp/out
run() {
    status=0
    if [ "$1" = symbols ]; then
        set -- symbols "$tmp/lib.so" "$tmp/lib.a"
        "${CC:-cc}" -Itree/include -Itree -fvisibility=hidden -fPIC -c \
            tree/core/ring/ring.c -o ring.o
        "${CC:-cc}" -shared ring.o -o lib.so
        rm -f lib.a
        ar rc lib.a ring.o
    fi
    if [ "$1" = rooms ]; then
        set -- rooms "$tmp/objects"
        rm -rf objects
        for source in $(cd tree && find core -name '*.c'); do
            mkdir -p "objects/$(dirname "$source")"
            "${CC:-cc}" -Itree/include -Itree -c "tree/$source" \
                -o "objects/$source.o"
        done
    fi
    check=$1
    shift
    "$scripts/check_$check.sh" tree "$@" >out 2>&1 || status=$?
}

passes() {
    run "$1"
    case $status in
    0) ;;
    77) echo "$1: not tried, $(cat out)" ;;
    *)
        echo "$1: reports something in a clean tree:" >>"$bad"
        sed 's/^/    /' out >>"$bad"
        ;;
    esac
}

# finds <check> <text of the report>: then the tree is clean again
finds() {
    run "$1"
    planted=$((planted + 1))
    if [ $status -eq 0 ] || { [ $status -ne 77 ] && ! grep -qF "$2" out; }; then
        echo "$1: does not report \"$2\" but (exit $status):" >>"$bad"
        sed 's/^/    /' out >>"$bad"
    fi
    clean_tree
}

# c <file> <line>...: append lines to a source, new ones with a licence
c() {
    file=tree/$1
    shift
    mkdir -p "$(dirname "$file")"
    [ -f "$file" ] || echo '/* SPDX-License-Identifier: Apache-2.0 */' >"$file"
    printf '%s\n' "$@" >>"$file"
}

clean_tree
for check in includes rooms headers symbols atomics sizes api_docs probes spdx \
             calls locale columns paths downloads warnings format doxygen; do
    passes $check
done

c core/ring/ring.c '#include "transport/tcp/tcp.h"'
finds includes 'core/ring/ring.c:34: "transport/tcp/tcp.h" is not below this'
c transport/tcp/tcp.c '#include "core/ring/ring.h"'
finds includes 'transport/tcp/tcp.c:2: "core/ring/ring.h" is not below'
c transport/shm/shm.c '#include "transport/tcp/tcp.h"'
finds includes 'transport/shm/shm.c:2: "transport/tcp/tcp.h" is not below'
c core/base/list.h '#include <weir/node.h>'
finds includes 'core/base/list.h:2: <weir/node.h> is not below'
c core/transport.h '#include "core/ring/ring.h"'
finds includes 'core/transport.h:2: "core/ring/ring.h" is not below'
c include/weir/node.h '#include <pthread.h>'
finds includes 'include/weir/node.h:2: <pthread.h> is not below'
c tools/weir.c '#include "core/ring/ring.h"'
finds includes 'tools/weir.c:2: "core/ring/ring.h" is not below'
c operators/scan.c '#include "core/ring/ring.h"'
finds includes 'operators/scan.c:2: "core/ring/ring.h" is not below'
c launch/group.h '#define WL_GROUP_H'
c core/ring/ring.c '#include "launch/group.h"'
finds includes 'core/ring/ring.c:34: "launch/group.h" is not below'
c bench/lib/plan.h '#define WB_PLAN_H'
c launch/group.c '#include "bench/lib/plan.h"'
finds includes 'launch/group.c:2: "bench/lib/plan.h" is not below'
c tools/gen.h '#define WEIR_GEN_H'
c bench/lib/plan.c '#include "tools/gen.h"'
finds includes 'bench/lib/plan.c:2: "tools/gen.h" is not below'
c bench/lib/plan.h '#define WB_PLAN_H'
c tools/weir.c '#include "bench/lib/plan.h"'
finds includes 'tools/weir.c:2: "bench/lib/plan.h" is not below'
c cli/fail.h '#define WEIR_FAIL_H'
c launch/group.c '#include "cli/fail.h"'
finds includes 'launch/group.c:2: "cli/fail.h" is not below'
c tools/gen.h '#define WEIR_GEN_H'
c cli/fail.c '#include "tools/gen.h"'
finds includes 'cli/fail.c:2: "tools/gen.h" is not below'
c core/ring/ring.c '#include "ring.h"'
finds includes '"ring.h" is not a path from the root'
c core/ring/a.h '#include "core/ring/b.h"'
c core/ring/b.h '#include "core/ring/a.h"'
finds includes 'core/ring/a.h: in a circle of includes'

c core/link/link.c '#include "core/node/node.h"'
c core/node/node.h '#define WI_NODE_H'
finds includes 'core/link/link.c:2: "core/node/node.h" is not below'
c core/ring/ring.c '#include "core/format/wire.h"'
c core/format/wire.h '#define WI_WIRE_H'
finds includes 'core/ring/ring.c:34: "core/format/wire.h" is not below'

c core/link/link.c 'void wi_step(void);' 'void wi_link(void) { wi_step(); }'
c core/node/step.c 'void wi_step(void);' 'void wi_step(void) {}'
finds rooms 'core/link/link.c: calls wi_step up in core/node/step.c'
c core/link/link.h 'void wi_step(void);'
c core/node/step.c 'void wi_step(void);' 'void wi_step(void) {}'
finds rooms 'core/link/link.h: declares wi_step of core/node/step.c'
c core/link/a.c 'void wi_b(void);' 'void wi_a(void);' \
    'void wi_a(void) { wi_b(); }'
c core/node/b.c 'void wi_a(void);' 'void wi_b(void);' \
    'void wi_b(void) { wi_a(); }'
finds rooms 'core/link/a.c: calls wi_b of core/node/b.c, which calls wi_a'
for i in 1 2 3 4 5 6 7 8 9; do
    c core/link/a$i.c "void wi_b$i(void);" "void wi_a$i(void) { wi_b$i(); }"
    c core/link/b$i.c "void wi_a$i(void);" "void wi_b$i(void) { wi_a$i(); }"
done
finds rooms 'core: 9 pairs call each other, allowed are 8'
c core/hall/a.c 'void wi_ring_take(void);' 'void wi_a(void) { wi_ring_take(); }'
c core/ring/take.c 'void wi_ring_take(void) {}'
finds rooms 'core/hall/a.c: in no room'

c core/ring/needy.h 'uint64_t wi_needy;'
finds headers 'core/ring/needy.h: does not compile alone as C'
c core/ring/twice.h 'struct wi_twice { int a; };'
finds headers 'core/ring/twice.h: does not compile alone as C'
c include/weir/new.h 'int weir_new(int class);'
finds headers 'weir/new.h: does not compile alone as C++17'

c include/weir/error.h 'WEIR_API int weir_absent(void);'
finds symbols 'weir_absent: declared in include/weir, not in the library'
c core/ring/ring.c 'WEIR_API int wi_shown(void);' \
    'int wi_shown(void) { return 1; }'
finds symbols 'wi_shown: exported, not declared'
c core/ring/ring.c 'int hash(void);' 'int hash(void) { return 1; }'
finds symbols 'hash: a name that a program may want'

c core/ring/ring.c 'int x = memory_order_relaxed;'
finds atomics 'core/ring/ring.c:34: memory_order_relaxed belongs into'
c core/ring/ring.c 'void f(void) { atomic_thread_fence(5); }'
finds atomics 'atomic_thread_fence belongs into'
c core/ring/ring.c '/* E1 */' '' '' '' 'int y(void) { return wi_load_acq(p); }'
finds atomics 'core/ring/ring.c:38: wi_load_acq names no edge'
c core/ring/ring.c 'int y(void) { return wi_load_acq(p); /* E2 acquire */ }' \
    'int z(void) { wi_store_rel(p, 1); /* E2 release */ }'
finds atomics 'E2 is no row of docs/concurrency.md'
echo '| E3 | nothing |' >>tree/docs/concurrency.md
finds atomics 'docs/concurrency.md: E3 is in no source'
echo '| E1 | again |' >>tree/docs/concurrency.md
finds atomics 'docs/concurrency.md: two rows for E1'
echo '| E4 | half |' >>tree/docs/concurrency.md
c core/ring/ring.c '/* E4 release: x; pairs with E4 acquire in nobody() */' \
    'void f(void) { wi_store_rel(p, 1); }'
finds atomics 'E4 has no acquire end'
rm tree/docs/concurrency.md
finds atomics 'docs/concurrency.md: missing'

long_function() {
    echo 'int longest(void)'
    echo '{'
    yes '    ;' | head -n "$1"
    echo '}'
}
long_function 58 >>tree/core/ring/ring.c
finds sizes 'core/ring/ring.c:34: a function of 61 lines: longest'
long_function 57 >>tree/core/ring/ring.c
passes sizes
clean_tree
yes '' | head -n 468 >>tree/core/ring/ring.c
finds sizes 'core/ring/ring.c: a file of 501 lines'
mkdir -p tree/test/unit/core
yes '' | head -n 1001 >>tree/test/unit/core/ring_test.c
finds sizes 'test/unit/core/ring_test.c: a file of 1001 lines'

c include/weir/error.h '' '/** Errors: none. Blocks: never. Ownership: no. */' \
    'WEIR_API int weir_three(void);'
finds api_docs 'int weir_three(void);: comment lacks Threads:'
c include/weir/error.h '' 'WEIR_API int weir_four(void);'
finds api_docs 'comment lacks Errors: Blocks: Threads: Ownership:'

c include/weir/error.h 'WEIR_API int weir_six(struct weir_error *err,' \
    '                      const int *list, int n);'
finds probes 'weir_six: no probe in test/unit/args for its argument list'
c include/weir/error.h 'WEIR_API int weir_seven(int worker);'
finds probes 'weir_seven: no probe in test/unit/args for its argument worker'

printf '#!/bin/sh\n\n# SPDX-License-Identifier: Apache-2.0\n' >tree/tools/x.sh
finds spdx './tools/x.sh:1: no SPDX'
echo 'int x;' >tree/core/ring/x.c
finds spdx './core/ring/x.c:1: no SPDX'

c core/ring/ring.c 'double f(const char *t) { return strtod(t, 0); }'
finds locale 'core/ring/ring.c:34: depends on the locale: strtod()'
c operators/scan.c 'int f(char c) { return toupper(c); }'
finds locale 'operators/scan.c:2: depends on the locale: toupper()'
c transport/tcp/tcp.c 'void f(char *t) { snprintf(t, 9, "%.1f s", 1.0); }'
finds locale 'transport/tcp/tcp.c:2: a float by snprintf'
c core/ring/ring.c 'void f(void) { usleep(10); }'
finds calls 'core/ring/ring.c:34: usleep() is not allowed here'
c transport/tcp/tcp.c 'void f(void) { if (1) sleep (1); }'
finds calls 'transport/tcp/tcp.c:2: sleep() is not'
c test/unit/core/x_test.c 'void f(void) { sched_yield(); }'
finds calls 'test/unit/core/x_test.c:2: sched_yield() is not'

c transport/tcp/tcp.c "/* ä $(printf '%072d' 0) */"
passes columns
c transport/tcp/tcp.c "/* ä $(printf '%073d' 0) */"
finds columns 'transport/tcp/tcp.c:3: 81 columns'

echo 'See [edges](concurency.md) for more.' >>tree/docs/concurrency.md
finds paths 'docs/concurrency.md:4: a link to concurency.md is not in the tree'
echo 'See `core/ring/none.c` and core/ring/*.h.' >tree/README.md
finds paths 'README.md:1: core/ring/none.c is not in the tree'
echo 'Below `ring/`, `ring.c`, `ring/none.h`' >tree/README.md
finds paths 'README.md:1: ring/none.h is not in the tree'
echo 'of the `*_none.c` in core/ring' >>tree/docs/concurrency.md
finds paths 'docs/concurrency.md:4: *_none.c is not in the tree'

script() {
    printf '%s\n' '#!/bin/sh' '# SPDX-License-Identifier: Apache-2.0' \
        "$@" >tree/tools/get.sh
}
mkdir -p tree/tools/pip
script 'x/bin/pip install --quiet \' '    duckdb==1.0'
finds downloads 'tools/get.sh:3: pip without --require-hashes'
echo '    $ python3 -m venv v && v/bin/pip install duckdb' >>tree/README.md
finds downloads 'README.md:1: pip without --require-hashes'
script 'true' '(cd x && cargo build --release)'
finds downloads 'tools/get.sh:4: cargo without --locked'
script 'curl -sO example.invalid/x'
finds downloads 'tools/get.sh:3: fetches what nobody has looked at'
script 'npm install x'
finds downloads 'tools/get.sh:3: npm has scripts of others'
script 'npm pack x'
finds downloads 'tools/get.sh: a package of npm is not compared'
mkdir -p tree/tools/pip
printf 'x==1.0\ny==2.0 \\\n    --hash=sha256:%064d\n' 0 \
    >tree/tools/pip/x.txt
finds downloads 'tools/pip/x.txt:1: a package without a hash'
printf 'source = "registry"\n' >tree/Cargo.lock
finds downloads 'Cargo.lock: a package without a checksum'
echo 'module x' >tree/go.mod
finds downloads 'go.mod: there is no go.sum'

c core/ring/ring.c 'int f(int a);' \
    'int f(int a) { unsigned b = a; return b > 1; }'
finds warnings 'implicit conversion changes signedness'
c core/ring/ring.c 'int   f ( void );'
finds format 'core/ring/ring.c: '
c include/weir/error.h '/** F. @param nobody no such thing */' \
    'WEIR_API int weir_five(int a);'
finds doxygen 'nobody'

verdict "$bad"
echo "$planted planted violations found"
