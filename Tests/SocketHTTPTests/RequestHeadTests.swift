import HTTPTypes
import Testing

@testable import SocketHTTP

private func parsed(target: String, method: String = "GET") -> RequestHead? {
    RequestHead("\(method) \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
}

@Suite(.timeLimit(.minutes(5))) struct RequestHeadTests {
    @Test(arguments: [
        ("/", "/", nil as String?, "h"),
        ("/a/b", "/a/b", nil, "h"),
        ("/a?b=c&d=%20/?", "/a", "b=c&d=%20/?", "h"),
        ("/?", "/", "", "h"),
        ("//a//", "//a//", nil, "h"),
        ("/%41%c3%a4%25x", "/%41%c3%a4%25x", nil, "h"),
        ("/%25%32g%25", "/%25%32g%25", nil, "h"),
        ("/.a/..b/...", "/.a/..b/...", nil, "h"),
        ("/a.b%2ec", "/a.b%2ec", nil, "h"),
        ("/-._~!$&'()*+,;=:@", "/-._~!$&'()*+,;=:@", nil, "h"),
        ("http://x", "/", nil, "x"),
        ("HTTPS://x:8443/a?b", "/a", "b", "x:8443"),
        ("http://x?b", "/", "b", "x"),
        ("http://[::1]:80/", "/", nil, "[::1]:80"),
    ])
    func aTargetIsSplit(target: String, path: String, query: String?, authority: String) throws {
        let head = try #require(parsed(target: target))
        #expect(head.path == path)
        #expect(head.query == query)
        #expect(head.authority == authority)
        #expect(head.target == (query.map { "\(path)?\($0)" } ?? path))
    }

    @Test(arguments: [
        ("Origin: null", true), ("oRIGIN:", true), ("Sec-Fetch-Site: none", true), ("SEC-FETCH-SITE: x", true),
        ("X: Origin", false), ("Origins: x", false), ("Orig1n: x", false), ("Sec-Fetch-Mode: cors", false),
        ("Sec-Fetch-Dest: empty", false), ("Referer: http://h/", false),
    ])
    func aBrowserNamesItsPageInOneOfTwoFields(line: String, isNamed: Bool) throws {
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\(line)\r\nX-Last: x\r\n\r\n"))
        #expect(head.namesItsPage == isNamed)
    }

    @Test func anAsteriskIsForOptionsOnly() {
        #expect(parsed(target: "*", method: "OPTIONS")?.path == "*")
        #expect(parsed(target: "*") == nil)
        #expect(parsed(target: "*a", method: "OPTIONS") == nil)
    }

    @Test(arguments: [
        "a", "?a", "#", "/#a", "/a b", "/\u{e4}", "/<", "/\\", "/[", "/?[", "/?\u{e4}", "/?|", "/?#", "/\"", "/{id}",
        "/.", "/..", "/./", "/a/../b", "/%2e", "/%2E%2e/b", "/.%2e/", "/a/%2e.", "/a/..?b",
        "/%2f", "/a%2Fb", "/%5c", "/%00", "/a%0d%0aX", "/%7f", "/%1F",
        "/%252e%252e", "/%2561", "/%25%32%65x", "/%252%65", "/%25%32e", "/%", "/%1", "/%g0", "/%0g", "/a%", "/?%",
        "/?a=%zz", "/%%32",
        "http:/a", "http//a", "http://", "http:///a", "http://?a", "http://u@h/", "http://h:/../", "http://h:99999/",
        "ftp://h/", "http://h/%2e%2e/", "ws://h/", "httpsx://h", "//h\\", "http://[::1/", "http://h h/", "h:443",
    ])
    func aTargetThatIsInvalidOrInDisguiseIsRefused(target: String) {
        #expect(isBadRequest(outcome(of: "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n", in: [])))
    }

    @Test(arguments: [
        ("a", true), ("a:", true), ("a:0", true), ("a:65535", true), ("a.b-c_d~", true), ("%41b", true),
        ("1.2.3.4", true),
        ("[::1]", true), ("[::ffff:1.2.3.4]:80", true), ("a!$&'()*+;=", true),
        (":", false), (":80", false), ("a:65536", false), ("a:000080", false), ("a:8x", false), ("a:80:80", false),
        ("a@b", false), ("a b", false), ("a/", false), ("a?", false), ("a#", false), ("%4", false), ("%4g", false),
        ("[::1", false), ("[]", false), ("[::1]a", false), ("[::1%25eth0]", false), ("[1.2.3.4]", false),
        ("[v1.a]", false),
        ("::1", false), ("\u{e4}", false), ("a\\b", false), ("<a>", false), ("[:::1]", false), ("a:-1", false),
    ])
    func anAuthorityIsAHostAndMaybeAPort(text: String, isValid: Bool) {
        let bytes = Array(text.utf8)
        #expect(Authority.isValid(bytes.span, ByteRange(0, bytes.count)) == isValid)
    }

    @Test func fieldsAreFoundInAnyCaseAndJoined() throws {
        let head = try #require(
            RequestHead("GET / HTTP/1.1\r\nHost: h\r\nAccept: a \r\nX-Y:\r\nACCEPT:\tb, c\r\n\r\n")
        )
        #expect(head[.accept] == "a, b, c")
        #expect(head.values(.accept) == ["a", "b, c"])
        #expect(head.count(of: .accept) == 2)
        #expect(head[try #require(HTTPField.Name("x-Y"))] == "")
        #expect(head[.cookie] == nil)
        #expect(head.count(of: .cookie) == 0)
        #expect(head.values(.cookie) == [])
        #expect(head[try #require(HTTPField.Name("x_y"))] == nil)
        #expect(head.fields.map(\.name) == ["Host", "Accept", "X-Y", "ACCEPT"])
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true),
        ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: Upgrade, CLOSE\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false),
        ("HTTP/1.1", "Connection: closed\r\n", true),
        ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ("HTTP/1.0", "Connection: keep-alive, close\r\n", false),
    ])
    func theConnectionLastsAsVersionAndFieldSay(version: String, field: String, keepsAlive: Bool) throws {
        let head = try #require(RequestHead("GET / \(version)\r\nHost: h\r\n\(field)\r\n"))
        #expect(head.keepsAlive == keepsAlive)
    }
}
