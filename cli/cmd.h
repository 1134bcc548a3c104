/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Commands of the `weir` program; they are in tools/ and bench/commands/.
 * argv[0] is the command's own name; each returns the program's exit status: 0
 * done, 1 failed (message on stderr), 2 wrong use (also what argp exits with),
 * 3 bad input; run: 141, nobody reads its rows any more.
 */
#ifndef WEIR_CMD_H
#define WEIR_CMD_H

int cmd_bench(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_scan(int argc, char **argv);  /* with libweir-scan */
int cmd_serve(int argc, char **argv); /* likewise */
int cmd_shuffle(int argc, char **argv);
int cmd_sim(int argc, char **argv);

#endif /* WEIR_CMD_H */
