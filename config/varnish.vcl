# Sealpost behind Varnish, which has no TLS of its own: put hitch, HAProxy or nginx in front of it.
# The tests run this file unchanged except for the addresses. The matching setting of Sealpost:
# server.trustedProxies: ["127.0.0.1", "unix"].
vcl 4.1;

backend sealpost {
    .host = "127.0.0.1"; .port = "8080";    # or .path = "/run/sealpost/http.sock"
    .connect_timeout = 5s;
    .first_byte_timeout = 60s;
    .between_bytes_timeout = 60s;
}

sub vcl_recv {
    # Replaces the fields: a client's own claims about its address do not count. If the proxy in
    # front of this one is trusted, omit the first of the three.
    set req.http.X-Forwarded-For = client.ip;
    set req.http.X-Forwarded-Proto = "https";
    unset req.http.Forwarded;
    # Every answer belongs to one user. Never return (hash): a cache that ignores the caller sends
    # payloads to strangers, and PushClient treats a cached answer as interference.
    return (pass);
}

sub vcl_backend_fetch {
    # The server may close a reused connection just as Varnish sends a request on it, and Varnish
    # would then answer a POST with 503. Varnish cannot reuse connections for some methods only, so
    # it reuses none.
    set bereq.http.Connection = "close";
}
