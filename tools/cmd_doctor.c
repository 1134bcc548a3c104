/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir doctor: what links of this machine can run over, what is in the way, and
 * the command that removes it; and how a peer is reached.
 */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/status.h"
#include "tools/doctor.h"

enum {
    KEY_JSON = 256,
    KEY_ROOT,
    KEY_ONCE,
    KEY_TIMEOUT,
    KEY_SECRET,
    KEY_PSK,
    KEY_PLAIN,
    KEY_CERT,
    KEY_TLS_KEY,
    KEY_CA,
    KEY_NAME,
    KEY_SERVER
};

struct doctor_args {
    const char *peer;
    const char *why;
    const char *listen; /* NULL: do not */
    bool once;
    bool json;
    struct doctor doctor;
};

static const struct argp_option options[] = {
    {"peer", 'p', "PEER", 0,
     "Measure to HOST, HOST:PORT or an ADDRESS, where weir doctor --listen or "
     "any other node runs",
     0},
    {"listen", 'l', "HOST:PORT", OPTION_ARG_OPTIONAL,
     "Be the other end of --peer [0.0.0.0:" DOCTOR_PORT "]", 0},
    {"advertise", 'a', "HOST:PORT", 0,
     "With --listen: where peers reach it, behind a mapped port or a NAT", 0},
    {"once", KEY_ONCE, NULL, 0, "With --listen: end after one peer", 0},
    {"why", 'w', "PEER", 0,
     "Say which transport auto takes to HOST or ADDRESS, and why", 0},
    {"transport", 't', "NAME", 0,
     "Of the nodes that are opened; verbs makes a missing RDMA device a "
     "problem [auto]",
     0},
    {"secret-file", KEY_SECRET, "FILE", 0,
     "The secret of the nodes that are opened; both ends need it", 0},
    {"tls-psk", KEY_PSK, NULL, 0, IDENTITY_PSK_DOC, 0},
    {"plain", KEY_PLAIN, NULL, 0, IDENTITY_PLAIN_DOC, 0},
    {"tls-cert", KEY_CERT, "FILE", 0, IDENTITY_CERT_DOC, 0},
    {"tls-key", KEY_TLS_KEY, "FILE", 0, IDENTITY_KEY_DOC, 0},
    {"tls-ca", KEY_CA, "FILE", 0, IDENTITY_CA_DOC, 0},
    {"name", KEY_NAME, "NAME", 0, IDENTITY_NAME_DOC, 0},
    {"server-name", KEY_SERVER, "NAME", 0, IDENTITY_SERVER_DOC, 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "Seconds for a peer to answer [5]", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {"sysroot", KEY_ROOT, "DIR", OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static uint64_t seconds(struct argp_state *state, const char *text)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end != '\0' || !(s > 0) || s > 3600) {
        argp_error(state, "--timeout is \"%s\"; must be a number up to 3600",
                   text);
    }
    return (uint64_t)(s * 1e9);
}

/* False: it is none of these. */
static bool take_identity(int key, const char *arg, struct identity *id)
{
    switch (key) {
    case KEY_SECRET:
        id->secret_file = arg;
        return true;
    case KEY_PSK:
        id->tls_psk = true;
        return true;
    case KEY_PLAIN:
        id->plain = true;
        return true;
    case KEY_CERT:
        id->tls.tls_cert_file = arg;
        return true;
    case KEY_TLS_KEY:
        id->tls.tls_key_file = arg;
        return true;
    case KEY_CA:
        id->tls.tls_ca_file = arg;
        return true;
    case KEY_NAME:
        id->name = arg;
        return true;
    case KEY_SERVER:
        id->server_name = arg;
        return true;
    default:
        return false;
    }
}

static void check(struct argp_state *state, struct doctor_args *a)
{
    if ((a->peer != NULL) + (a->why != NULL) + (a->listen != NULL) > 1) {
        argp_error(state, "--peer, --listen and --why exclude each other");
    }
    if ((a->once || a->doctor.advertise != NULL) && a->listen == NULL) {
        argp_error(state, "--once and --advertise belong to --listen");
    }
    identity_check(state, &a->doctor.identity);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct doctor_args *a = state->input;
    switch (key) {
    case 'p':
        a->peer = arg;
        return 0;
    case 'l':
        a->listen = arg != NULL ? arg : "0.0.0.0:" DOCTOR_PORT;
        return 0;
    case 'a':
        a->doctor.advertise = arg;
        return 0;
    case 'w':
        a->why = arg;
        return 0;
    case 't':
        a->doctor.transport = arg;
        return 0;
    case KEY_ONCE:
        a->once = true;
        return 0;
    case KEY_TIMEOUT:
        a->doctor.timeout_ns = seconds(state, arg);
        return 0;
    case KEY_JSON:
        a->json = true;
        return 0;
    case KEY_ROOT:
        a->doctor.root = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    case ARGP_KEY_END:
        check(state, a);
        return 0;
    default:
        return take_identity(key, arg, &a->doctor.identity) ? 0
                                                            : ARGP_ERR_UNKNOWN;
    }
}

int cmd_doctor(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Check what links can run over: transports, RDMA devices and "
               "their ports, limits, device files. Each line is ok, note or "
               "problem; below a problem stands the command that fixes it."
               "\vExit status: 0 no problem; 1 problems; 2 wrong use.",
    };
    struct doctor_args a = {.doctor = {.root = "",
                                       .transport = "auto",
                                       .timeout_ns = UINT64_C(5000000000),
                                       .out = stdout}};
    struct doctor *d = &a.doctor;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return STATUS_USAGE;
    }
    d->findings = a.json ? json_array() : NULL;
    if (a.peer != NULL) {
        doctor_peer(d, a.peer);
    } else if (a.why != NULL) {
        doctor_why(d, a.why);
    } else if (a.listen != NULL) {
        doctor_listen(d, a.listen, a.once);
    } else {
        doctor_node(d);
        doctor_devices(d);
        doctor_system(d);
    }
    return doctor_end(d);
}
