#pragma once
// sqlite3_config(), which takes variable arguments, so that Swift cannot call it.
#include <sqlite3.h>

// Counts no memory: each allocation would take a lock of the whole process. Before the first database is opened.
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// The number of the last error on the log, or on the database itself; 0 if there was none. SQLite keeps it for each file;
// sqlite3_system_errno() has been overwritten by the time a transaction has been undone.
static inline int csqlite_last_errno(sqlite3 *connection, int of_log) {
    int code = 0;
    sqlite3_file *file = 0;
    int operation = of_log ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER;
    if (sqlite3_file_control(connection, "main", operation, &file) == SQLITE_OK && file && file->pMethods)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code);
    return code;
}
