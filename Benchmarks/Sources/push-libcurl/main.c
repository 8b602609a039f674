// libcurl and nothing else: the same pushes as the product's to APNs, without outbox, tasks or memory of what was sent.
//
//   push-libcurl ENDPOINT CA_FILE PUSHES CONNECTIONS STREAMS
//
// One thread, libcurl's multi-socket interface on epoll, as CurlHTTP uses it; each handle begins its next push in the
// moment its last has ended. Prints {"pushes":…,"seconds":…,"processorSeconds":…}; exits with 1 if any answer is not 200.
#include <curl/curl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *endpoint, *ca_file;
static long pushes, begun, ended, refused;
static long timeout_ms = -1;
static int epoll = -1;
static CURLM *multi;

typedef struct {
    CURL *easy;
    struct curl_slist *headers;
    char *apns_id;     // where in the header list the number of the push is written
    char url[256];
} transfer;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what) {
    fprintf(stderr, "push-libcurl: %s\n", what);
    exit(1);
}

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *assigned) {
    (void)easy, (void)context;
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, socket, NULL);
    } else if (assigned) {
        epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event);
    } else {
        epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
        curl_multi_assign(multi, socket, &epoll);
    }
    return 0;
}

static int wake_up(CURLM *handle, long milliseconds, void *context) {
    (void)handle, (void)context;
    timeout_ms = milliseconds;
    return 0;
}

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

// Another device and another id for each push, as in life: neither may be a hit in the header compression's table.
static void begin(transfer *transfer) {
    if (begun == pushes) return;
    long number = ++begun;
    snprintf(transfer->url, sizeof transfer->url, "%s/3/device/%064lx", endpoint, number);
    snprintf(transfer->apns_id, 37, "%08lx-0000-4000-8000-%012lx", number & 0xFFFFFFFF, number);
    curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->url);
    if (curl_multi_add_handle(multi, transfer->easy) != CURLM_OK) fail("a push could not be begun");
}

static void make(transfer *transfer) {
    static const char body[] = "{\"aps\":{\"content-available\":1},\"secureId\":\"1234567890\"}";
    char authorization[256] = "authorization: bearer ";
    memset(authorization + strlen(authorization), 'a', 180);
    const char *lines[] = {
        "Accept:", "Expect:", "Content-Type:", authorization, "apns-id: 00000000-0000-4000-8000-000000000000",
        "apns-push-type: background", "apns-priority: 5", "apns-expiration: 1900000000", "apns-topic: com.example.app",
        "apns-collapse-id: 1234567890",
    };
    for (size_t index = 0; index < sizeof lines / sizeof *lines; index++) {
        transfer->headers = curl_slist_append(transfer->headers, lines[index]);
    }
    for (struct curl_slist *line = transfer->headers; line; line = line->next) {
        if (!strncmp(line->data, "apns-id: ", 9)) transfer->apns_id = line->data + 9;
    }
    CURL *easy = transfer->easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
}

static void collect(void) {
    CURLMsg *message;
    int queued;
    while ((message = curl_multi_info_read(multi, &queued))) {
        long status = 0;
        transfer *transfer;
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        if (message->data.result != CURLE_OK || status != 200) refused++;
        ended++;
        curl_multi_remove_handle(multi, transfer->easy);
        begin(transfer);
    }
}

int main(int count, char **arguments) {
    if (count != 6) fail("ENDPOINT CA_FILE PUSHES CONNECTIONS STREAMS");
    endpoint = arguments[1];
    ca_file = arguments[2];
    pushes = atol(arguments[3]);
    long connections = atol(arguments[4]), streams = atol(arguments[5]);
    if (pushes < 1 || connections < 1 || streams < 1) fail("three numbers are expected, each above 0");

    signal(SIGPIPE, SIG_IGN);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, wake_up);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streams);

    double start = seconds_now();
    transfer *transfers = calloc((size_t)(connections * streams), sizeof *transfers);
    if (!transfers) fail("out of memory");
    for (long index = 0; index < connections * streams; index++) {
        make(&transfers[index]);
        begin(&transfers[index]);
    }
    while (ended < pushes) {
        struct epoll_event events[16];
        int running, ready = epoll_wait(epoll, events, 16, (int)timeout_ms);
        if (ready <= 0) {
            timeout_ms = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        for (int index = 0; index < ready; index++) {
            int what = 0;
            if (events[index].events & EPOLLIN) what |= CURL_CSELECT_IN;
            if (events[index].events & EPOLLOUT) what |= CURL_CSELECT_OUT;
            if (events[index].events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
            curl_multi_socket_action(multi, events[index].data.fd, what, &running);
        }
        collect();
    }
    double seconds = seconds_now() - start;

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double processor = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"pushes\":%ld,\"seconds\":%.3f,\"processorSeconds\":%.3f}\n", ended, seconds, processor);
    if (refused) fail("not all were answered with 200");
    return 0;
}
