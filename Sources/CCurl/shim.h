#pragma once
// libcurl; its variadic setters are repeated with fixed types, because Swift cannot call variadic C functions.
#include <curl/curl.h>

typedef int (*ccurl_socket_function)(CURL *easy, curl_socket_t socket, int what, void *context, void *assigned);
typedef int (*ccurl_timer_function)(CURLM *multi, long milliseconds, void *context);
typedef size_t (*ccurl_write_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_progress_function)(void *context, curl_off_t to_receive, curl_off_t received, curl_off_t to_send, curl_off_t sent);
typedef curl_socket_t (*ccurl_open_socket_function)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_set_bytes(CURL *easy, const void *bytes) { return curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes); }
static inline CURLcode ccurl_set_length(CURL *easy, curl_off_t length) { return curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, length); }
static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *list) { return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list); }
static inline CURLcode ccurl_set_context(CURL *easy, CURLoption option, void *context) { return curl_easy_setopt(easy, option, context); }
static inline CURLcode ccurl_set_write_function(CURL *easy, ccurl_write_function function) { return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function); }
static inline CURLcode ccurl_set_header_function(CURL *easy, ccurl_write_function function) { return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function); }
static inline CURLcode ccurl_set_progress_function(CURL *easy, ccurl_progress_function function) { return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function); }
static inline CURLcode ccurl_set_open_socket_function(CURL *easy, ccurl_open_socket_function function) { return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function); }

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode ccurl_get_context(CURL *easy, void **context) { return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)context); }

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }
static inline CURLMcode ccurl_multi_set_context(CURLM *multi, CURLMoption option, void *context) { return curl_multi_setopt(multi, option, context); }
static inline CURLMcode ccurl_multi_set_socket_function(CURLM *multi, ccurl_socket_function function) { return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function); }
static inline CURLMcode ccurl_multi_set_timer_function(CURLM *multi, ccurl_timer_function function) { return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function); }

// The result of a finished transfer lies in a union that Swift would have to name through the message.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }
