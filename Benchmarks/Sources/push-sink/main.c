// Takes pushes as APNs does, HTTP/2 over TLS, and answers each with 200 and its apns-id: a place to send to that costs
// next to nothing, so that a benchmark measures its senders. nghttp2 keeps the rules; nothing else is checked.
//
//   push-sink PORT CERTIFICATE KEY COUNTERS
//
// Listens on 127.0.0.1, on one thread, until it is ended. COUNTERS is a file of three 64-bit numbers in the machine's
// order, mapped and always up to date: how many pushes came, and when the first and the last of them did, in nanoseconds
// of CLOCK_MONOTONIC. Whoever writes zeros into it begins anew.
#define _GNU_SOURCE  // accept4
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 64 * 1024, STREAMS = 1000, ID_LENGTH = 36 };

typedef struct {
    uint64_t count, first, last;
} counters;

typedef struct {
    int socket;
    SSL *tls;
    nghttp2_session *session;
    uint8_t output[BUFFER];
    size_t pending;            // bytes of `output` that TLS has not yet taken
} connection;

static counters *arrived;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// MARK: - Requests

static int begin(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    (void)context;
    char *id = calloc(1, ID_LENGTH);
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, id);
}

static int receive_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
    const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
    (void)flags, (void)context;
    if (name_length == 7 && value_length == ID_LENGTH && !memcmp(name, "apns-id", 7)) {
        char *id = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        if (id) memcpy(id, value, ID_LENGTH);
    }
    return 0;
}

static int receive_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    (void)context;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    arrived->last = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (arrived->count++ == 0) arrived->first = arrived->last;
    char *id = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    nghttp2_nv fields[] = {
        {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE},
        {(uint8_t *)"apns-id", (uint8_t *)id, 7, ID_LENGTH, NGHTTP2_NV_FLAG_NO_INDEX},
    };
    return nghttp2_submit_response(session, frame->hd.stream_id, fields, id && *id ? 2 : 1, NULL);
}

static int end(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    (void)code, (void)context;
    free(nghttp2_session_get_stream_user_data(session, stream));
    return 0;
}

// MARK: - Connections

static void close_connection(connection *connection) {
    close(connection->socket);
    SSL_free(connection->tls);
    nghttp2_session_del(connection->session);
    free(connection);
}

// Writes what there is, many frames in one record. 0 if the connection is over; what the socket does not take now is
// written when epoll calls again.
static int flush(connection *connection) {
    while (1) {
        while (connection->pending < BUFFER / 2) {
            const uint8_t *bytes;
            ssize_t count = nghttp2_session_mem_send(connection->session, &bytes);
            if (count < 0 || (size_t)count > BUFFER - connection->pending) return 0;
            if (count == 0) break;
            memcpy(connection->output + connection->pending, bytes, (size_t)count);
            connection->pending += (size_t)count;
        }
        if (!connection->pending) return 1;
        int written = SSL_write(connection->tls, connection->output, (int)connection->pending);
        if (written <= 0) return SSL_get_error(connection->tls, written) == SSL_ERROR_WANT_WRITE;
        connection->pending -= (size_t)written;
        memmove(connection->output, connection->output + written, connection->pending);
    }
}

// 0 if the connection is over.
static int act(connection *connection) {
    static uint8_t input[BUFFER];
    while (1) {
        int count = SSL_read(connection->tls, input, sizeof input);
        if (count <= 0) {
            int error = SSL_get_error(connection->tls, count);
            if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return 0;
            return !SSL_is_init_finished(connection->tls) || flush(connection);
        }
        if (nghttp2_session_mem_recv(connection->session, input, (size_t)count) != count) return 0;
    }
}

static nghttp2_session *make_session(connection *connection, nghttp2_session_callbacks *callbacks) {
    nghttp2_session *session;
    nghttp2_option *option;
    nghttp2_option_new(&option);
    // libcurl 7.88 resets each stream after its answer, and nghttp2 would take that for an attack (CVE-2023-44487).
    nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX, UINT64_MAX);
    nghttp2_session_server_new2(&session, callbacks, connection, option);
    nghttp2_option_del(option);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1);
    return session;
}

static void accept_connection(int listener, int epoll, SSL_CTX *context, nghttp2_session_callbacks *callbacks) {
    int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
    if (socket < 0) return;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection *new = calloc(1, sizeof *new);
    if (!new) fail("memory");
    new->socket = socket;
    new->tls = SSL_new(context);
    SSL_set_fd(new->tls, socket);
    SSL_set_accept_state(new->tls);
    new->session = make_session(new, callbacks);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = new};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) < 0) fail("epoll");
}

// MARK: - Beginning

static int choose_http2(
    SSL *tls, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned int count,
    void *context) {
    (void)tls, (void)context;
    unsigned char *found;
    int result = nghttp2_select_next_protocol(&found, length, offered, count);
    *chosen = found;
    return result == 1 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, choose_http2, NULL);
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) fail(certificate);
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) fail(key);
    return context;
}

static int listen_on(const char *port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 64) < 0) fail("listen");
    return listener;
}

static void map_counters(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *arrived) < 0) fail(path);
    arrived = mmap(NULL, sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (arrived == MAP_FAILED) fail(path);
    close(file);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "push-sink PORT CERTIFICATE KEY COUNTERS\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    map_counters(arguments[4]);
    SSL_CTX *context = make_context(arguments[2], arguments[3]);
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, receive_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receive_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, end);

    int listener = listen_on(arguments[1]), epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) fail("epoll");
    while (1) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int index = 0; index < ready; index++) {
            connection *connection = events[index].data.ptr;
            if (!connection) {
                accept_connection(listener, epoll, context, callbacks);
            } else if (!act(connection)) {
                close_connection(connection);
            }
        }
    }
}
