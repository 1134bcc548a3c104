/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What came of the queries, against what may have.
 *
 *   outcome   a query fails only for a cause that the schedule has
 *   agree     members that hear of a failure hear the same
 *   exact     where all members are done, every row has come, once
 */
#ifndef WS_JUDGE_H
#define WS_JUDGE_H

#include "tools/sim/world.h"

/** All queries so far have ended on all their members. */
void ws_judge(struct ws_world *w, struct ws_result *out);

#endif /* WS_JUDGE_H */
