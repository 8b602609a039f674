# Caches every answer for an hour by host and path only, whatever its fields say.
vcl 4.1;

backend sealpost { .host = "127.0.0.1"; .port = "8080"; }

sub vcl_recv {
    if (req.method != "GET" && req.method != "HEAD") { return (pass); }
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_response {
    unset beresp.http.Cache-Control;
    unset beresp.http.Expires;
    unset beresp.http.Vary;
    unset beresp.http.Set-Cookie;
    set beresp.ttl = 1h;
    return (deliver);
}

sub vcl_deliver {
    set resp.http.X-Cache = "MISS";
    if (obj.hits > 0) { set resp.http.X-Cache = "HIT"; }
}
