#pragma once
// sqlite3_config(), which takes variable arguments, so that Swift cannot call it.
#include <sqlite3.h>

// Counts no memory: each allocation would take a lock of the whole process. Before the first database is opened.
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
