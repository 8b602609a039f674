# Keeps every answer for times when the server does not answer.
vcl 4.1;

backend sealpost { .host = "127.0.0.1"; .port = "8080"; }

sub vcl_recv {
    if (req.method != "GET" && req.method != "HEAD") { return (pass); }
    set req.grace = 0s;
    if (req.restarts > 0) { set req.grace = 1h; }
    return (hash);
}

sub vcl_backend_response {
    unset beresp.http.Cache-Control;
    unset beresp.http.Vary;
    set beresp.ttl = 1ms;
    set beresp.grace = 1h;
    return (deliver);
}

sub vcl_backend_error { return (abandon); }

sub vcl_synth {
    if (req.restarts == 0) { return (restart); }
}
