/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak [--rounds N] [--seconds S] [--seed S] [--transport shm|tcp|auto]
 *      [--members N]
 *
 * A cluster of processes that live through real faults. In each round a query
 * runs, one member is struck in its midst, and all have to tell of rows, all of
 * them, or of a cause that names who was struck; then what was broken is
 * mended, and the next query has to be exact. Every fourth of the way members
 * are looked at: memory, mappings, descriptors and threads must not grow.
 *
 * Exit status: 0, or 1 after one line that says what was wrong and how to have
 * it again.
 */
#include "test/soak/soak.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/rows.h"

enum {
    MS = 1000000,
    DETECT_MS = 3000,    /* a busy machine is not taken for a dead one */
    PATIENCE_MS = 60000, /* for an answer */
    TRIES = 3,           /* of the query after a fault */
    WARM_ROUNDS = 40,
    FEW_ROWS = 4000,
};

static const char *const names[FAULTS] = {"none",   "kill",  "stop",  "cut",
                                          "cancel", "close", "files", "space"};

static struct soak *soak;
static int go_fd[SOAK_MEMBERS]; /* 0: none */
static int say_fd[SOAK_MEMBERS];
static uint64_t seed = 1;
static uint64_t drawn;
static uint32_t round_now;
static uint64_t last_id;
static uint32_t count[FAULTS];
static uint32_t whole[FAULTS]; /* ended with all rows all the same */
static uint32_t again[FAULTS]; /* the next query was run once more */

static uint32_t draw(uint32_t n)
{
    return (uint32_t)(wt_mix(seed, ++drawn) % n);
}

static void end_all(void)
{
    for (uint32_t k = 0; k < soak->n; k++) {
        if (soak->seat[k].pid > 0) {
            (void)kill(soak->seat[k].pid, SIGKILL);
            (void)waitpid(soak->seat[k].pid, NULL, 0);
        }
    }
}

#define wrong(...)                                                             \
    do {                                                                       \
        (void)fprintf(stderr, "soak: round %u: ", round_now);                  \
        (void)fprintf(stderr, __VA_ARGS__);                                    \
        give_up();                                                             \
    } while (0)

static void __attribute__((noreturn)) give_up(void)
{
    (void)fprintf(stderr,
                  "\nsoak: again: soak --seed %llu --transport %s "
                  "--members %u --rounds %u\n",
                  (unsigned long long)seed, soak->transport, soak->n,
                  round_now + 1);
    end_all();
    exit(1);
}

/* ---- members ------------------------------------------------------------- */

static void start(uint32_t k)
{
    struct seat *s = &soak->seat[k];
    int go[2];
    int told[2];
    if (pipe(go) != 0 || pipe(told) != 0) {
        wrong("pipe: %s", strerror(errno));
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(go[1]);
        (void)close(told[0]);
        for (uint32_t i = 0; i < soak->n; i++) { /* of the others' pipes */
            if (go_fd[i] > 0) {
                (void)close(go_fd[i]);
                (void)close(say_fd[i]);
            }
        }
        soak_member(soak, k, go[0], told[1]);
    }
    (void)close(go[0]);
    (void)close(told[1]);
    s->pid = pid;
    go_fd[k] = go[1];
    say_fd[k] = told[0];
    if (pid < 0) {
        wrong("fork: %s", strerror(errno));
    }
}

static void forget(uint32_t k)
{
    struct seat *s = &soak->seat[k];
    (void)waitpid(s->pid, NULL, 0);
    (void)close(go_fd[k]);
    (void)close(say_fd[k]);
    s->pid = 0;
    go_fd[k] = say_fd[k] = 0;
}

static void order(uint32_t k, char what)
{
    if (write(go_fd[k], &what, 1) != 1) {
        wrong("member %u does not listen", k);
    }
}

/* Its next mark within so many ms; 0: none, or it has ended. */
static char hear(uint32_t k, int ms)
{
    struct pollfd p = {.fd = say_fd[k], .events = POLLIN};
    char mark = 0;
    if (poll(&p, 1, ms) > 0 && read(p.fd, &mark, 1) != 1) {
        mark = 0;
    }
    return mark;
}

/* Marks of rows that flow are passed over; true: it has done what it was told,
 * perhaps before what was waited for. */
static bool await(uint32_t k, char mark)
{
    char got;
    do {
        got = hear(k, PATIENCE_MS);
    } while (got == 'h' && mark != 'h');
    if (got != mark && !(mark == 'h' && got == 'd')) {
        (void)kill(soak->seat[k].pid, SIGUSR1); /* it says what it waits for */
        (void)poll(NULL, 0, 500);
        wrong("member %u (%s) does not answer (wanted %c, got %d)", k,
              soak->seat[k].name, mark, got);
    }
    return got == 'd';
}

static void tell(uint32_t k, char what)
{
    order(k, what);
    (void)await(k, 'd');
}

/* ---- queries ------------------------------------------------------------- */

static void begin(uint64_t rows, uint32_t victim, enum fault fault)
{
    last_id++;
    for (uint32_t k = 0; k < soak->n; k++) {
        struct seat *s = &soak->seat[k];
        s->id = last_id;
        s->rows = rows;
        s->fault = k == victim ? fault : FAULT_NONE;
        s->code = WEIR_OK;
        order(k, 'q');
    }
}

/* Did all end well? Then every row came once. */
static bool exact(void)
{
    struct wt_sums all = {0};
    for (uint32_t k = 0; k < soak->n; k++) {
        const struct seat *s = &soak->seat[k];
        if (s->code != WEIR_DONE) {
            return false;
        }
        all.made_rows += s->sums.made_rows;
        all.made_sum += s->sums.made_sum;
        all.got_rows += s->sums.got_rows;
        all.got_sum += s->sums.got_sum;
    }
    if (all.made_rows == 0 || all.got_rows != all.made_rows ||
        all.got_sum != all.made_sum) {
        wrong("%llu rows of %llu came, or others",
              (unsigned long long)all.got_rows,
              (unsigned long long)all.made_rows);
    }
    return true;
}

static void good_query(enum fault after)
{
    for (uint32_t try = 1; try <= TRIES; try++) {
        begin(FEW_ROWS, 0, FAULT_NONE);
        for (uint32_t k = 0; k < soak->n; k++) {
            (void)await(k, 'd');
        }
        if (exact()) {
            again[after] += try > 1;
            return;
        }
    }
    for (uint32_t k = 0; k < soak->n; k++) {
        (void)fprintf(stderr, "soak: member %u: %s: %s\n", k,
                      weir_err_name(soak->seat[k].code), soak->seat[k].message);
    }
    wrong("after %s, %d queries failed", names[after], TRIES);
}

/* ---- faults -------------------------------------------------------------- */

static bool names_somebody(const char *message, uint32_t victim, bool any)
{
    for (uint32_t k = 0; k < soak->n; k++) {
        if ((any || k == victim) &&
            strstr(message, soak->seat[k].name) != NULL) {
            return true;
        }
    }
    return false;
}

static bool fits(weir_err code, enum fault fault)
{
    switch (fault) {
    case FAULT_CANCEL:
        return code == WEIR_ERR_CANCELLED;
    case FAULT_CLOSE:
        return code == WEIR_ERR_ABORTED;
    case FAULT_FILES:
    case FAULT_SPACE:
        return code == WEIR_ERR_PEER_LOST || code == WEIR_ERR_NO_MEMORY ||
               code == WEIR_ERR_QUERY_MEMORY || code == WEIR_ERR_SYSTEM ||
               code == WEIR_ERR_ABORTED;
    default:
        return code == WEIR_ERR_PEER_LOST;
    }
}

/* Rows, or a cause that names who was struck. Both ends of a link that was cut
 * may name the other one; who was struck may know it without a name. */
static void judge(uint32_t victim, enum fault fault)
{
    const bool links =
        fault == FAULT_CUT || fault == FAULT_FILES || fault == FAULT_SPACE;
    if (exact()) {
        whole[fault]++;
        return;
    }
    for (uint32_t k = 0; k < soak->n; k++) {
        const struct seat *s = &soak->seat[k];
        if (k == victim && fault == FAULT_KILL) {
            continue;
        }
        if (s->code == WEIR_DONE || !fits(s->code, fault) ||
            (k != victim && !names_somebody(s->message, victim, links))) {
            wrong("after %s of member %u (%s), member %u says %s: %s",
                  names[fault], victim, soak->seat[victim].name, k,
                  weir_err_name(s->code), s->message);
        }
    }
}

static void strike(uint32_t victim, enum fault fault)
{
    pid_t pid = soak->seat[victim].pid;
    if (fault == FAULT_KILL) {
        (void)kill(pid, SIGKILL);
    } else if (fault == FAULT_STOP) {
        (void)kill(pid, SIGSTOP);
    } else if (fault == FAULT_CUT || fault == FAULT_FILES ||
               fault == FAULT_SPACE) {
        (void)kill(pid, SIGUSR2);
    }
}

static void mend(uint32_t victim, enum fault fault)
{
    if (fault == FAULT_FILES || fault == FAULT_SPACE) {
        tell(victim, 'u');
    } else if (fault == FAULT_KILL) {
        forget(victim);
        start(victim);
        (void)await(victim, 'o');
        tell(victim, 'j');
        for (uint32_t k = 0; k < soak->n; k++) {
            soak->seat[k].about = victim;
            if (k != victim) {
                tell(k, 'a');
            }
        }
    }
}

static void play(enum fault fault)
{
    uint32_t victim = draw(soak->n);
    bool over = false;
    count[fault]++;
    if (fault == FAULT_FILES || fault == FAULT_SPACE) {
        soak->seat[victim].fault = fault;
        tell(victim, 'l');
    }
    begin(fault == FAULT_NONE ? FEW_ROWS : WT_PLAN_ENDLESS, victim, fault);
    if (fault != FAULT_NONE) {
        over = await(victim, 'h');
        (void)poll(NULL, 0, (int)draw(20)); /* a moment that nobody chose */
        strike(victim, fault);
    }
    for (uint32_t k = 0; k < soak->n; k++) {
        if (k != victim) {
            (void)await(k, 'd');
        }
    }
    if (fault == FAULT_STOP) {
        (void)kill(soak->seat[victim].pid, SIGCONT);
    }
    if (fault != FAULT_KILL && !over) {
        (void)await(victim, 'd');
    }
    judge(victim, fault);
    mend(victim, fault);
    good_query(fault);
}

/* ---- growth -------------------------------------------------------------- */

/* The most of any member that is there. */
static struct vitals look(void)
{
    struct vitals most = {0};
    for (uint32_t k = 0; k < soak->n; k++) {
        tell(k, 'v');
        const struct vitals *v = &soak->seat[k].vitals;
#define MOST(what) most.what = v->what > most.what ? v->what : most.what
        MOST(resident_bytes);
        MOST(mappings);
        MOST(files);
        MOST(threads);
#undef MOST
    }
    (void)printf("round %u: most of a member: %.1f MiB, %llu mappings, "
                 "%llu descriptors, %llu threads\n",
                 round_now, (double)most.resident_bytes / (1 << 20),
                 (unsigned long long)most.mappings,
                 (unsigned long long)most.files,
                 (unsigned long long)most.threads);
    (void)fflush(stdout);
    return most;
}

/* Links that are being opened, stacks and heaps make some difference. */
static void compare(const struct vitals *was, const struct vitals *is)
{
    if (is->resident_bytes > was->resident_bytes * 5 / 4 + (8 << 20) ||
        is->mappings > was->mappings * 5 / 4 + 32 ||
        is->files > was->files + 2 * soak->n || is->threads > was->threads) {
        wrong("members have grown");
    }
}

/* ---- all of it ----------------------------------------------------------- */

static void open_cluster(void)
{
    for (uint32_t k = 0; k < soak->n; k++) {
        (void)snprintf(soak->seat[k].name, sizeof(soak->seat[k].name),
                       "soak%d-m%u", (int)getpid(), k);
        start(k);
    }
    for (uint32_t k = 0; k < soak->n; k++) {
        (void)await(k, 'o');
    }
    for (uint32_t k = 0; k < soak->n; k++) {
        tell(k, 'j');
    }
}

static void close_cluster(void)
{
    for (uint32_t k = 0; k < soak->n; k++) {
        int status = 0;
        order(k, 'x');
        (void)waitpid(soak->seat[k].pid, &status, 0);
        soak->seat[k].pid = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            wrong("member %u ended with status %x", k, (unsigned)status);
        }
    }
}

static uint64_t seconds(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec;
}

static void live(uint32_t rounds, uint64_t most_seconds)
{
    struct vitals early = {0};
    uint64_t begun = seconds();
    open_cluster();
    for (round_now = 0; round_now < rounds && seconds() - begun < most_seconds;
         round_now++) {
        play((enum fault)draw(FAULTS));
        if (round_now + 1 == WARM_ROUNDS) {
            early = look();
        } else if (round_now > WARM_ROUNDS && round_now % 100 == 0) {
            struct vitals now = look();
            compare(&early, &now);
        }
    }
    struct vitals late = look();
    if (early.threads != 0) {
        compare(&early, &late);
    }
    close_cluster();
    (void)printf("%s, %u members, seed %llu: %u rounds in %llu s\n",
                 soak->transport, soak->n, (unsigned long long)seed, round_now,
                 (unsigned long long)(seconds() - begun));
    for (uint32_t f = 0; f < FAULTS; f++) {
        (void)printf("  %-7s %5u times, %u of them with all rows; the next "
                     "query once more: %u\n",
                     names[f], count[f], whole[f], again[f]);
    }
}

int main(int argc, char **argv)
{
    uint32_t rounds = 200;
    uint64_t most_seconds = 3600;
    soak = mmap(NULL, sizeof(*soak), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (soak == MAP_FAILED) {
        return 1;
    }
    *soak = (struct soak){.transport = "shm",
                          .n = SOAK_MEMBERS,
                          .detect_ns = (uint64_t)DETECT_MS * MS};
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--rounds") == 0) {
            rounds = (uint32_t)value;
        } else if (strcmp(argv[i], "--seconds") == 0) {
            most_seconds = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = value;
        } else if (strcmp(argv[i], "--transport") == 0) {
            soak->transport = argv[i + 1];
        } else if (strcmp(argv[i], "--members") == 0 && value >= 2 &&
                   value <= SOAK_MEMBERS) {
            soak->n = (uint32_t)value;
        } else {
            (void)fprintf(stderr, "soak: %s %s?\n", argv[i], argv[i + 1]);
            return 2;
        }
    }
    (void)signal(SIGPIPE, SIG_IGN);
    live(rounds, most_seconds);
    return 0;
}
