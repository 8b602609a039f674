import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct WNSRulesTests {
    private static func request(_ changes: KeyValuePairs<String, String?> = [:], size: Int = 2) -> SimulatedRequest {
        var headers = [
            "authorization": "Bearer good", "x-wns-type": "wns/raw", "content-type": "application/octet-stream",
            "content-length": String(size),
        ]
        for (name, value) in changes { headers[name] = value }
        return SimulatedRequest(
            path: "/w/?token=a%2fb",
            headers: headers.map { HeaderField($0, $1) },
            body: [UInt8](repeating: 1, count: size)
        )
    }

    private static func binding(_ text: String) -> String {
        #"<binding template="ToastGeneric"><text>\#(text)</text></binding>"#
    }

    private func status(of request: SimulatedRequest) -> Int {
        var rules = WNSRules()
        rules.channels = ["/w/?token=a%2fb": .open, "/w/?token=old": .expired]
        do throws(WNSRefusal) {
            try rules.check(request) { $0 == "Bearer good" }
            return 200
        } catch {
            return error.status
        }
    }

    private static let headers: [(name: String, value: String?, status: Int)] = [
        ("authorization", nil, 401), ("authorization", "Bearer bad", 401),
        ("x-wns-type", nil, 400), ("x-wns-type", "wns/toast", 400),
        ("content-type", nil, 400), ("content-type", "application/json", 400),
        ("content-length", nil, 400), ("content-length", "3", 400),
        ("x-wns-cache-policy", "cache", 200), ("x-wns-cache-policy", "maybe", 400),
        ("x-wns-ttl", "60", 200), ("x-wns-ttl", "-1", 400), ("x-wns-ttl", "1.5", 400),
        ("x-wns-priority", "4", 200), ("x-wns-priority", "5", 400),
        ("x-wns-group", "g", 400),
    ]

    @Test(arguments: Self.headers)
    func eachHeaderIsChecked(name: String, value: String?, status: Int) {
        #expect(self.status(of: Self.request([name: value])) == status)
    }

    @Test(arguments: [
        (#"<toast launch="secureId=7"><visual>\#(binding("New"))</visual></toast>"#, 200),
        ("<toast><visual>\(binding("a &amp; b"))</visual></toast>", 200),
        ("<toast><visual>\(binding("a & b"))</visual></toast>", 400),
        ("<toast><visual>\(binding(""))</visual></toast>", 400), ("<toast><visual></visual></toast>", 400),
        ("7", 400), ("<toast>", 400),
    ])
    func aToastMustBeValid(body: String, status: Int) {
        let type = ["x-wns-type": "wns/toast", "content-type": "text/xml"] as KeyValuePairs<String, String?>
        var request = Self.request(type, size: body.utf8.count)
        request.body = Array(body.utf8)
        #expect(self.status(of: request) == status)
    }

    @Test(arguments: [
        (#"<badge value="3"/>"#, 200), (#"<badge value="0"/>"#, 200), (#"<badge value=""/>"#, 400),
        (#"<badge value="-1"/>"#, 400), (#"<badge value="new"/>"#, 400), ("<badge/>", 400), ("3", 400),
    ])
    func aBadgeMustBeANumber(body: String, status: Int) {
        let type = ["x-wns-type": "wns/badge", "content-type": "text/xml"] as KeyValuePairs<String, String?>
        var request = Self.request(type, size: body.utf8.count)
        request.body = Array(body.utf8)
        #expect(self.status(of: request) == status)
    }

    @Test(arguments: [(0, 400), (1, 200), (5000, 200), (5001, 413)])
    func theBodysSizeIsLimited(size: Int, status: Int) {
        #expect(self.status(of: Self.request(size: size)) == status)
    }

    @Test(arguments: [
        ("/w/?token=a%2fb", 200), ("/w/?token=a/b", 404), ("/w/?token=a%2Fb", 404), ("/w/", 404),
        ("/w/?token=old", 410),
    ])
    func aChannelIsItsURLByteForByte(path: String, status: Int) {
        var request = Self.request()
        request.path = path
        #expect(self.status(of: request) == status)
    }

    @Test func onlyPostIsAllowed() {
        var request = Self.request()
        request.method = "GET"
        #expect(self.status(of: request) == 405)
    }
}
