/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a command takes for granted of the process that it is, whoever started
 * it.
 *
 * - Descriptors 0 to 2 are open. One that was closed becomes one on which every
 *   read and write fails, so that lost rows are an error and no file or socket
 *   of ours is taken for standard output.
 * - No signal is blocked, and SIGCHLD has its default: ignored, it would make
 *   the kernel forget how our processes ended. Signals that are ignored for a
 *   reason (SIGHUP under nohup) stay so.
 */
#ifndef WEIR_CLI_BEGIN_H
#define WEIR_CLI_BEGIN_H

/** Call first. Ends the process with status 1 if it cannot be done. */
void cli_begin(void);

#endif /* WEIR_CLI_BEGIN_H */
