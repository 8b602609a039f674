#pragma once
// prctl(2), which takes variable arguments, so that Swift cannot call it.
#include <sys/prctl.h>

static inline int cprctl_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
