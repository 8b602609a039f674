#pragma once
// Wraps sqlite3_config() and sqlite3_db_config(): they take variable arguments, so that Swift
// cannot call them. Also reads and times SQLite's open files.
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

// Keeps SQLite from counting its memory: otherwise each allocation would take a lock of the whole process. Call this before the
// first database is opened.
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// Keeps SQL in the file from calling functions with effects. Keeps statements from writing to
// sqlite_schema.
static inline int csqlite_distrust_schema(sqlite3 *connection) {
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    return code == SQLITE_OK ? sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0) : code;
}

// A text in double quotes is the name of a column, and never a text when there is no such column.
static inline void csqlite_refuse_texts_in_double_quotes(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
}

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

// An open file whose syncs are timed. SQLite calls a file through the methods that the file points to: here they are a copy of
// its own methods with another xSync and another xClose. Each of these two calls the file's own method, and returns its result.
struct csqlite_timed_file {
    sqlite3_io_methods methods;  // first, so that the file's pointer to its methods is one to this
    const sqlite3_io_methods *own;
    void (*synced)(void *context, sqlite3_int64 nanoseconds);
    void (*closed)(void *context);
    void *context;
};

static inline int csqlite_timed_sync(sqlite3_file *file, int flags) {
    const struct csqlite_timed_file *timed = (const struct csqlite_timed_file *)file->pMethods;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int code = timed->own->xSync(file, flags);
    clock_gettime(CLOCK_MONOTONIC, &end);
    timed->synced(timed->context, (end.tv_sec - begin.tv_sec) * 1000000000LL + (end.tv_nsec - begin.tv_nsec));
    return code;
}

static inline int csqlite_timed_close(sqlite3_file *file) {
    struct csqlite_timed_file *timed = (struct csqlite_timed_file *)file->pMethods;
    file->pMethods = timed->own;
    int code = file->pMethods->xClose(file);
    timed->closed(timed->context);
    free(timed);
    return code;
}

// Times the syncs of the log, or of the database itself, while they are open: `synced` is called after each sync, also after one
// that failed, and `closed` once, when the file is closed. Returns 0, and calls neither, if there is no such file yet.
static inline int csqlite_time_syncs(sqlite3 *connection, int of_log, void (*synced)(void *, sqlite3_int64),
                                     void (*closed)(void *), void *context) {
    sqlite3_file *file = 0;
    int operation = of_log ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER;
    if (sqlite3_file_control(connection, "main", operation, &file) != SQLITE_OK || !file || !file->pMethods) return 0;
    struct csqlite_timed_file *timed = malloc(sizeof *timed);
    if (!timed) return 0;
    *timed = (struct csqlite_timed_file){*file->pMethods, file->pMethods, synced, closed, context};
    // A later SQLite may have methods that this header does not know, and the copy lacks.
    if (timed->methods.iVersion > 3) timed->methods.iVersion = 3;
    timed->methods.xSync = csqlite_timed_sync;
    timed->methods.xClose = csqlite_timed_close;
    file->pMethods = &timed->methods;
    return 1;
}
