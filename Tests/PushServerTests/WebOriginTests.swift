import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct WebOriginTests {
    @Test(arguments: [
        ("https://app.example", "https://app.example"), ("HTTPS://App.EXAMPLE", "https://app.example"),
        ("https://app.example:443", "https://app.example"), ("http://app.example:80", "http://app.example"),
        ("http://app.example:443", "http://app.example:443"), ("https://app.example:08443", "https://app.example:8443"),
        ("http://localhost:3000", "http://localhost:3000"), ("http://192.0.2.1:1", "http://192.0.2.1:1"),
        ("https://[2001:DB8:0::1]:65535", "https://[2001:db8::1]:65535"), ("http://[::1]", "http://[::1]"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://a_b.example.", "https://a_b.example."),
        ("capacitor://localhost", "capacitor://localhost"), ("moz-extension://0a-1", "moz-extension://0a-1"),
    ])
    func anOriginHasOneSpelling(text: String, description: String) {
        #expect(WebOrigin(text)?.description == description)
    }

    @Test(arguments: [
        "", "null", "*", "app.example", "//app.example", "https:", "https:/app.example", "https://", "https://:443",
        "://app.example", "1https://app.example", "ht tps://app.example", "https://app.example/",
        "https://app.example/a",
        "https://app.example?", "https://app.example#", "https://alice@app.example", "https://alice:b@app.example:1",
        "https://*.example", "https://app.example:", "https://app.example:0", "https://app.example:65536",
        "https://app.example:+1", "https://app.example:123456", "https://app.example:1:2", "https://bücher.example",
        "https://a b", "https://a%2eexample", "https://[::1", "https://[::1]x", "https://[::1%lo]", "https://[1.2.3.4]",
        "https://[::ffff:1.2.3.4]", "https://1.2.3", "https://1.2.3.256", "https://01.2.3.4", "https://app.7",
        "https://app.example, https://b.example", "https://app.example\n", " https://app.example", "file:///",
        "https://[::1\0f]", "https://192.0.2.1\0",
    ])
    func invalidOriginsAreRefused(text: String) {
        #expect(WebOrigin(text) == nil)
    }

    @Test(arguments: [
        ("https://app.example", true), ("capacitor://localhost", true), ("http://localhost:3000", true),
        ("http://app.localhost", true), ("http://127.0.0.1:1", true), ("http://[::1]:1", true),
        ("http://app.example", false), ("http://localhost.example", false), ("http://127.example", false),
        ("http://192.168.0.1", false), ("http://[2001:db8::1]", false),
    ])
    func aPageIsProtectedByTLSOrByComingFromTheMachine(text: String, isProtected: Bool) throws {
        #expect(try #require(WebOrigin(text)).isProtected == isProtected)
    }
}
