// The phones after a broadcast: each collects the notification once, with a token of its own, over a few kept connections.
//
//     herd-fetch PORT TOKENS ID COUNTERS
//
// TOKENS has a bearer token on each line. COUNTERS is what `push-sink` counts in: phone n asks as soon as n pushes have
// arrived. On one thread, with one request under way on each connection. Prints the seconds from the first request to the
// last answer; ends with 1 if an answer is not 200.
#define _GNU_SOURCE  // strcasestr
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 64, BUFFER = 8192, LONGEST = 512 };

typedef struct {
    int socket;
    size_t received;
    char buffer[BUFFER];
} connection;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *map(const char *path, size_t *length) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) fail(path);
    void *bytes = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) fail(path);
    if (length) *length = status.st_size;
    return bytes;
}

static void ask(connection *connection, const char *id, const char *token, size_t length) {
    char request[LONGEST];
    int count = snprintf(request, sizeof request,
        "GET /api/notifications/%s HTTP/1.1\r\nHost: sealpost\r\nAuthorization: Bearer %.*s\r\nMyToken: 1000\r\n\r\n", id,
        (int)length, token);
    if (write(connection->socket, request, count) != count) fail("write");
}

// Whether the whole answer is there, which must be 200.
static int is_answered(connection *connection) {
    ssize_t count = read(connection->socket, connection->buffer + connection->received, BUFFER - 1 - connection->received);
    if (count <= 0) fail("read");
    connection->received += count;
    connection->buffer[connection->received] = 0;
    char *end = strstr(connection->buffer, "\r\n\r\n");
    char *length = strcasestr(connection->buffer, "\r\ncontent-length:");
    if (!end) return 0;
    if (strncmp(connection->buffer, "HTTP/1.1 200", 12) || !length) {
        fprintf(stderr, "%s\n", connection->buffer);
        exit(1);
    }
    if ((size_t)(end + 4 - connection->buffer) + atol(length + 17) > connection->received) return 0;
    connection->received = 0;
    return 1;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    size_t length;
    char *tokens = map(arguments[2], &length);
    volatile uint64_t *arrived = map(arguments[4], NULL);
    size_t width = strcspn(tokens, "\n"), phones = length / (width + 1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])),
        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int loop = epoll_create1(0), one = 1;
    connection *connections = calloc(CONNECTIONS, sizeof(connection)), *idle[CONNECTIONS];
    size_t idle_count = 0, asked = 0, answered = 0;
    for (int index = 0; index < CONNECTIONS; index++) {
        connection *connection = &connections[index];
        connection->socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(connection->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
        setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(loop, EPOLL_CTL_ADD, connection->socket, &event);
        idle[idle_count++] = connection;
    }
    double start = 0, deadline = now() + 300;
    while (answered < phones) {
        if (now() > deadline) return 1;
        while (idle_count && asked < phones && asked < *arrived) {
            if (!asked) start = now();
            ask(idle[--idle_count], arguments[3], tokens + asked * (width + 1), width);
            asked++;
        }
        struct epoll_event events[CONNECTIONS];
        int ready = epoll_wait(loop, events, CONNECTIONS, idle_count ? 1 : 100);
        for (int index = 0; index < ready; index++) {
            if (!is_answered(events[index].data.ptr)) continue;
            idle[idle_count++] = events[index].data.ptr;
            answered++;
        }
    }
    printf("%.4f\n", now() - start);
    return 0;
}
