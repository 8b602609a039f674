# Sealpost behind Varnish, which has no TLS of its own: hitch, HAProxy or nginx stands before it. The tests run it as it
# is, except for the addresses. The same in Sealpost: server.trustedProxies: ["127.0.0.1", "unix"].
vcl 4.1;

backend sealpost {
    .host = "127.0.0.1"; .port = "8080";    # or .path = "/run/sealpost/http.sock"
    .connect_timeout = 5s;
    .first_byte_timeout = 60s;
    .between_bytes_timeout = 60s;
}

sub vcl_recv {
    # Set and not added to: what a client claims of its own address does not count. Where the proxy before this one is
    # trusted, leave out the first of the three.
    set req.http.X-Forwarded-For = client.ip;
    set req.http.X-Forwarded-Proto = "https";
    unset req.http.Forwarded;
    # Every answer is one user's. Never return (hash): a cache that does not ask who calls hands payloads to strangers,
    # and PushClient takes an answer that was kept for interference.
    return (pass);
}

sub vcl_backend_fetch {
    # A kept connection may be closed by the other side in the very moment in which it is used again. Varnish has no kept
    # ones for some methods only, and would answer a POST with 503 then: so it keeps none.
    set bereq.http.Connection = "close";
}
