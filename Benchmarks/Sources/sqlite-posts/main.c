// The rows of a post, inserted into the product's own schema as fast as SQLite takes them: prepared statements, batches of
// one transaction each, synchronous=FULL. Nothing is parsed, sealed, hashed or answered, and nothing else reads.
//
//     sqlite-posts DATABASE SCHEMA SECONDS BATCH DEVICES
//
// SCHEMA is the first migration, so the tables have their first names.
// DEVICES is 1 where each post has a push that waits, else 0. Prints posts a second.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void check(int code, int wanted) {
    if (code == wanted) return;
    fprintf(stderr, "sqlite-posts: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql) { check(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK); }

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    check(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static char *contents(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) exit(1);
    char *text = calloc(1, 1 << 20);
    if (!text || !fread(text, 1, (1 << 20) - 1, file)) exit(1);
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    if (count != 6) return 64;
    check(sqlite3_open(arguments[1], &database), SQLITE_OK);
    double seconds = atof(arguments[3]);
    int batch = atoi(arguments[4]), devices = atoi(arguments[5]);
    run("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma secure_delete = on;"
        "pragma temp_store = memory; pragma cache_size = -65536; pragma wal_autocheckpoint = 4096");
    run(contents(arguments[2]));
    run("insert into user (name, name_key, role, password, created_at)"
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 64)"
        "select zeroblob(40), randomblob(16), 'device', '', 0 from c");

    sqlite3_stmt *notification = prepare(
        "insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at,"
        " expires_at, payload) values (?, ?, 1, 0, 'high', ?, ?, ?, ?, ?)");
    sqlite3_stmt *recipient = prepare(
        "insert into recipient (notification_id, user_id, change, changed_at, seal) values (?, ?, ?, ?, ?)");
    sqlite3_stmt *delivery = prepare(
        "insert into delivery (notification_id, device, user_id, lane, is_bulk, state, due_at)"
        " values (?, ?, ?, 'stream', 0, 'queued', ?)");
    sqlite3_stmt *tally = prepare(
        "insert into tally (lane, state, count) values ('stream', 'enqueued', 1)"
        " on conflict (lane, state) do update set count = count + excluded.count");
    sqlite3_stmt *audit = prepare("insert into audit (number, at, entry, chain) values (?, ?, ?, ?)");
    unsigned char payload[60] = {0}, entry[120] = {0}, chain[32] = {0};

    srandom(1);
    long number = 0;
    double start = now(), end = start + seconds;
    while (now() < end) {
        run("begin immediate");
        for (int index = 0; index < batch; index++) {
            number++;
            // As the product's: random, and those of one moment near each other.
            unsigned long moment = (unsigned long)(number / 400) * 0x9E3779B97F4A7C15ul >> 34;
            long id = (long)(moment << 32 | random()) + 1, user = number % 64 + 1, time = number;
            sqlite3_bind_int64(notification, 1, id);
            sqlite3_bind_int64(notification, 2, user);
            sqlite3_bind_int64(notification, 3, number);
            sqlite3_bind_int64(notification, 4, random());
            sqlite3_bind_int64(notification, 5, time);
            sqlite3_bind_int64(notification, 6, time + 86400000);
            sqlite3_bind_blob(notification, 7, payload, sizeof payload, SQLITE_STATIC);
            step(notification);
            sqlite3_bind_int64(recipient, 1, id);
            sqlite3_bind_int64(recipient, 2, user);
            sqlite3_bind_int64(recipient, 3, number);
            sqlite3_bind_int64(recipient, 4, time);
            sqlite3_bind_int64(recipient, 5, random() * random());
            step(recipient);
            if (devices) {
                sqlite3_bind_int64(delivery, 1, id);
                sqlite3_bind_int64(delivery, 2, user);
                sqlite3_bind_int64(delivery, 3, user);
                sqlite3_bind_int64(delivery, 4, time);
                step(delivery);
                step(tally);
            }
            sqlite3_bind_int64(audit, 1, number);
            sqlite3_bind_int64(audit, 2, time);
            sqlite3_bind_blob(audit, 3, entry, sizeof entry, SQLITE_STATIC);
            sqlite3_bind_blob(audit, 4, chain, sizeof chain, SQLITE_STATIC);
            step(audit);
        }
        run("commit");
    }
    printf("%.0f\n", number / (now() - start));
    return 0;
}
