/// The parts of which the generator makes requests. Most parts are valid, and the others are only
/// slightly invalid.
extension StreamGenerator {
    static let methods = ["HEAD", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "G!#$%&'*+-.^_`|~T"]

    static let targets = [
        "/a/b?c=d", "/a?", "/?a?b", "//a", "/a%20b", "/%C3%A4", "/a;b=c", "*", "h:443", "http://a", "HTTP://a/b?c",
        "https://a:8443?b", "http://[::1]/", "http://u@a/", "ftp://a/", "/../a", "/%2e%2e/", "/a%2fb", "/%00", "/a#b",
        "/a\\b", "/%", "a", "/<>\"{}|^`", "/~!$&'()*+,;=:@-._",
    ]

    static let versions = [
        " HTTP/1.0\r\n", " HTTP/1.0\r\n", " HTTP/1.0\r\n", " HTTP/1.2\r\n", " HTTP/1.9\r\n", " HTTP/2.0\r\n",
        " HTTP/0.9\r\n", " HTTP/1.10\r\n", " http/1.1\r\n", " HTTP/1.1 \r\n", "\r\n",
    ]

    static let hosts = ["a.example:80", "[::1]:8080", "127.0.0.1", "", "h, i", "h:", "u@h", "h/a"]

    static let fields = [
        ("Accept", "*/*"), ("Accept", "a, b;q=0.5"), ("User-Agent", "a/1 (b)"), ("Authorization", "Basic eDp5"),
        ("If-None-Match", "\"a\", W/\"b\""), ("X-Request-Id", "a-b_c"), ("Priority", "u=1"), ("A", "1"), ("A", "2"),
        ("X", ""), ("X-Long", "a b\tc  d"), ("X", "\"a, b\""), ("x_y", "\u{e4}\u{20ac}"), ("!#$%&'*+-.^_`|~", "a:b"),
        ("Cookie", "a=b; c=d"),
        ("MyToken", "1000"),
        ("Connection", "close"), ("Connection", "keep-alive"), ("Connection", "keep-alive"), ("Connection", "x, Close"),
        ("Expect", "100-continue"), ("Expect", "x"), ("Upgrade", "h2c"), ("TE", "trailers"), ("Trailer", "X"),
        ("Host", "h"), ("Transfer_Encoding", "chunked"), ("Content-Type", "text/plain"),
    ]

    static let chunkedNames = ["chunked", "chunked", "chunked", "Chunked", "CHUNKED"]

    static let badLengths = [
        "3, 3", "3,4", "+3", "-1", "0x3", "3.0", "1 1", "", "9223372036854775807", "9223372036854775808",
        "18446744073709551619", "99999999999999999999999",
    ]

    static let badCodings = [
        "gzip, chunked", "chunked, gzip", "chunked, chunked", "identity", "", ",chunked", "chunked,", "xchunked",
        "chunked;q=1", "\"chunked\"",
    ]

    static let contents = [
        "", "a", "abc", "\r\n", "0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "3\r\nabc\r\n", "0123456789abcdef",
        "\u{0}\u{ff}", "{\"a\": [1, 2]}\n",
    ]

    static let extensions = [
        ";a", ";a=b", ";a=\"b;c\"", ";a=\"\\\"\"", ";a;b=c", " ", "\t", " ;a", "; a", ";", ";=b", ";a=", ";a=\"b",
        ";a=\"b\"c",
    ]

    static let trailers = [
        "X: y\r\n", "X: y\r\nZ:\r\n", "Content-Length: 3\r\n", "Content-Length: x\r\n", "Transfer-Encoding: gzip\r\n",
        "Host: i\r\n", "X: y\r\n z\r\n", "X : y\r\n", "X\r\n", ": y\r\n", "GET / HTTP/1.1\r\n", "X: \u{0}\r\n",
    ]
}
