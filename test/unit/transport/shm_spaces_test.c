/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of one user id in different namespaces, and user ids that no
 * namespace has mapped: who is let in, and whom a node connects to. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test/support/lacks.h"
#include "test/unit/transport/shm_support.h"

enum { TEXT = 256 };

static const struct {
    const char *name;
    int flag;
} spaces[] = {
    {"user", CLONE_NEWUSER}, {"pid", CLONE_NEWPID}, {"mnt", CLONE_NEWNS}};

/* ---- a child in namespaces of its own ------------------------------------ */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

/* To the same number, so that the id alone does not tell them apart. */
static bool map_own_uid(uid_t uid)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
    return write_file("/proc/self/uid_map", text) && geteuid() == uid;
}

/* Goes there; false: it cannot. Who is in a new one of processes is a child. */
static bool move(int flag)
{
    uid_t uid = geteuid();
    int with = flag != 0 && uid != 0 ? flag | CLONE_NEWUSER : flag;
    if (unshare(with) != 0 ||
        ((with & CLONE_NEWUSER) != 0 && !map_own_uid(uid))) {
        return false;
    }
    if ((flag & CLONE_NEWPID) != 0) {
        pid_t pid = fork();
        if (pid > 0) {
            int status = 1;
            (void)waitpid(pid, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return true;
}

struct child {
    pid_t pid;
    int said; /* what it writes */
};

/* Ends with its parent. */
static struct child begin(int flag, void (*work)(const char *name, int out),
                          const char *name)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    struct child c = {.pid = fork(), .said = ends[0]};
    cr_assert_geq(c.pid, 0);
    if (c.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!move(flag)) {
            (void)!write(ends[1], "lacking", 7);
            _exit(0);
        }
        work(name, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    return c;
}

/* What it says, while the node, if there is one, goes on. */
static void hear(struct child *c, struct wt_node *n, char text[TEXT])
{
    struct pollfd fds[2] = {
        {.fd = c->said, .events = POLLIN},
        {.fd = n != NULL ? wi_shm_ops.fd(n->t) : -1, .events = POLLIN}};
    do {
        if (n != NULL) {
            (void)wt_node_drain(n);
        }
        cr_assert_gt(poll(fds, 2, WT_PATIENCE_MS), 0, "nothing more happens");
    } while (fds[0].revents == 0);
    ssize_t len = read(c->said, text, TEXT - 1);
    cr_assert_geq(len, 0);
    text[len] = '\0';
    if (strcmp(text, "lacking") == 0) {
        WT_LACKS("namespaces of its own");
    }
}

static void end(struct child *c)
{
    (void)kill(c->pid, SIGKILL);
    cr_assert_eq(waitpid(c->pid, NULL, 0), c->pid);
    (void)close(c->said);
}

/* ---- it connects --------------------------------------------------------- */

/* What a node answers first: "greeted", or why not. */
static void dial_and_tell(const char *name, int out)
{
    struct {
        struct shm_head head;
        char text[TEXT];
    } p = {.head = {0}};
    struct sockaddr_un sa;
    socklen_t len = 0;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)wi_shm_sockaddr(name, &sa, &len);
    (void)connect(fd, (struct sockaddr *)&sa, len);
    ssize_t n = recv(fd, &p, sizeof(p) - 1, 0);
    const char *text = n < (ssize_t)sizeof(p.head) ? "nothing"
                       : p.head.kind == SHM_GREET  ? "greeted"
                                                   : p.text;
    (void)!write(out, text, strlen(text));
}

static void open_node(struct wt_node *n, const char *name, bool proved)
{
    struct weir_error err = {0};
    static unsigned serial; /* a child that is killed may be slow to end */
    *n = (struct wt_node){.now_ns = 1};
    (void)snprintf(n->name, sizeof(n->name), "%s-%d-%u", name, (int)getpid(),
                   serial++);
    const struct wi_transport_params p = {.name = n->name, .proved = proved};
    cr_assert_eq(wi_shm_ops.open(&p, &n->t, &err), WEIR_OK, "%s", err.message);
    wi_shm_ops.address(n->t, n->address);
}

static void expect_answer(int flag, bool proved, const char *want)
{
    struct wt_node n;
    char text[TEXT];
    open_node(&n, "spaces", proved);
    struct child c = begin(flag, dial_and_tell, n.name);
    hear(&c, &n, text);
    cr_assert_not_null(strstr(text, want), "no \"%s\" in: %s", want, text);
    end(&c);
    (void)wt_node_drain(&n);
    wi_shm_ops.close(n.t);
}

Test(shm_spaces, who_connects_from_the_same_ones_is_greeted, .timeout = 60)
{
    expect_answer(0, false, "greeted");
}

Test(shm_spaces, who_connects_from_other_ones_is_refused, .timeout = 60)
{
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        expect_answer(spaces[i].flag, false, "processes in other namespaces");
    }
}

Test(shm_spaces, who_has_to_prove_a_secret_may_be_anywhere, .timeout = 60)
{
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        expect_answer(spaces[i].flag, true, "greeted");
    }
}

/* ---- it listens ---------------------------------------------------------- */

static void listen_and_wait(const char *name, int out)
{
    const struct {
        struct shm_head head;
        struct shm_greeting greeting;
    } p = {{SHM_GREET, sizeof(p.greeting)},
           {SHM_MAGIC, SHM_VERSION, SHM_PACKET_BYTES}};
    struct sockaddr_un sa;
    socklen_t len = 0;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)wi_shm_sockaddr(name, &sa, &len);
    bool ok = bind(fd, (struct sockaddr *)&sa, len) == 0 && listen(fd, 4) == 0;
    (void)!write(out, ok ? "listens" : "does not", 8);
    (void)send(accept(fd, NULL, NULL), &p, sizeof(p), MSG_NOSIGNAL);
    (void)pause();
}

static void expect_dialled(int flag, bool proved, const char *reason)
{
    struct wt_node n;
    char name[80];
    char address[96];
    char text[TEXT];
    open_node(&n, "dials", proved);
    (void)snprintf(name, sizeof(name), "at-%s", n.name);
    (void)snprintf(address, sizeof(address), "shm:%s", name);
    struct child c = begin(flag, listen_and_wait, name);
    hear(&c, NULL, text);
    cr_assert_str_eq(text, "listens");
    struct wi_ep *ep = wt_dial(&n, address);
    WT_UNTIL(&n, NULL, n.n_connected + n.n_closed > 0);
    if (reason != NULL) {
        cr_assert_not_null(strstr(n.reason, reason), "%s", n.reason);
    }
    cr_assert_eq(n.n_connected, reason == NULL ? 1u : 0u, "%s", n.reason);
    wi_shm_ops.disconnect(ep);
    end(&c);
    wi_shm_ops.close(n.t);
}

/* Whoever is first has the name: a process of a container, too. */
Test(shm_spaces, who_listens_in_other_ones_is_left_alone, .timeout = 60)
{
    expect_dialled(0, false, NULL);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        expect_dialled(spaces[i].flag, false, "processes in other namespaces");
        expect_dialled(spaces[i].flag, true, NULL);
    }
}

/* ---- user ids that nobody has -------------------------------------------- */

/* A node of a namespace that maps no user: to it all are of its own id. */
static void serve_unmapped(const char *name, int out)
{
    struct weir_error err = {0};
    struct wt_node n = {.now_ns = 1};
    const struct wi_transport_params p = {.name = name};
    if (unshare(CLONE_NEWUSER) != 0) {
        (void)!write(out, "lacking", 7);
        return;
    }
    if (wi_shm_ops.open(&p, &n.t, &err) != WEIR_OK) {
        (void)!write(out, err.message, strlen(err.message));
        return;
    }
    (void)!write(out, "listens", 7);
    for (;;) {
        struct pollfd fd = {.fd = wi_shm_ops.fd(n.t), .events = POLLIN};
        (void)wt_node_drain(&n);
        (void)poll(&fd, 1, -1);
    }
}

Test(shm_spaces, an_id_that_is_not_mapped_is_nobodys, .timeout = 60)
{
    char name[64];
    char text[TEXT];
    (void)snprintf(name, sizeof(name), "unmapped-%d", (int)getpid());
    struct child server = begin(0, serve_unmapped, name);
    hear(&server, NULL, text);
    cr_assert_str_eq(text, "listens");
    struct child c = begin(0, dial_and_tell, name);
    hear(&c, NULL, text);
    cr_assert_not_null(strstr(text, "its namespace does not map"), "%s", text);
    end(&c);
    end(&server);
}
