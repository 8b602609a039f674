// Connects with TLS 1.3, then only updates keys and requests the server's updates; reconnects when the server closes.
//
//   key-updates <port>
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(arguments[1]) : 0)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    signal(SIGPIPE, SIG_IGN);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    for (;;) {
        int number = socket(AF_INET, SOCK_STREAM, 0);
        SSL *session = SSL_new(context);
        SSL_set_fd(session, number);
        if (connect(number, (struct sockaddr *)&address, sizeof address) == 0 && SSL_connect(session) == 1) {
            char answer[65536];
            struct pollfd ready = {.fd = number, .events = POLLIN};
            // Discards the server's answers, which would otherwise block its writes.
            while (SSL_key_update(session, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(session) == 1)
                if (poll(&ready, 1, 0) == 1 && recv(number, answer, sizeof answer, 0) <= 0) break;
        } else {
            poll(NULL, 0, 10);
        }
        SSL_free(session);
        close(number);
    }
}
