import Foundation
import PushTesting
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct PushTallyTests {
    private static let apns = SimulatedRequest(path: "/3/device/ABCD", headers: [HeaderField("apns-id", "id-1")])
    private static let fcm = SimulatedRequest(
        path: "/v1/projects/p/messages:send",
        body: Array(#"{"message":{"token":"t1","data":{"secureId":"42"},"android":{}}}"#.utf8)
    )
    private static let wns = SimulatedRequest(path: "/w/?token=x", body: Array("42".utf8))

    @Test(arguments: [
        (Self.apns, "id-1", "abcd"), (Self.fcm, "42", "t1"), (Self.wns, "42", "/w/?token=x"),
        (SimulatedRequest(path: "/w/", body: [0x80]), "", "/w/"),
        (SimulatedRequest(path: "/v1/projects/p/messages:send", body: Array(#"{"token":"#.utf8)), "", ""),
    ])
    func aRequestIdentifiesItsPushAndDevice(request: SimulatedRequest, push: String, device: String) {
        let key = PushKey(request)
        #expect(key.push == push)
        #expect(key.device == device)
    }

    @Test func acceptedAndDeliveredPushesAreCountedSeparately() {
        var options = SimulatorOptions()
        options.countsPushes = true
        let log = PushLog(options)
        let verdicts: [PushVerdict] = [
            .faulted(.loseAnswer, judged: 200), .faulted(.reset), .refused(status: 503, reason: ""), .accepted,
            .faulted(.answer(status: 500)), .faulted(.goAway(), judged: 200), .faulted(.cut, judged: 410),
        ]
        for verdict in verdicts { log.record(ReceivedPush(request: Self.apns, verdict: verdict)) }
        log.record(ReceivedPush(request: Self.wns, verdict: .accepted))
        let tally = log.tally(of: "id-1", for: "abcd")
        #expect("\(tally.seen) \(tally.accepted) \(tally.delivered)" == "7 2 3")
        #expect(log.tally(of: "id-1", for: "other") == PushTally())
        let totals = log.totals
        #expect("\(totals.pushes) \(totals.seen) \(totals.accepted) \(totals.delivered)" == "2 8 2 2")
        #expect(totals.repeated == 2)
        #expect(log.received.isEmpty)
        #expect(log.acceptedCount == 3)
    }

    @Test func theFileHasALineForEachRequest() throws {
        let folder = try TemporaryFolder()
        do {
            let file = try PushLogFile(path: folder.file("log"))
            file.append(ReceivedPush(request: Self.apns, verdict: .accepted), platform: "apns")
            file.flush()
            file.append(ReceivedPush(request: Self.wns, verdict: .faulted(.reset)), platform: "wns")
            file.append(ReceivedPush(request: SimulatedRequest(path: "/x"), verdict: .accepted), platform: "wns")
        }
        let lines = try String(contentsOfFile: folder.file("log"), encoding: .utf8).split(separator: "\n")
        let rests = lines.map { String($0.drop { $0 != " " }) }
        #expect(
            rests == [
                " apns id-1 200 abcd", " wns 42 reset /w/?token=x", " wns - 200 /x",
            ]
        )
        #expect(lines.allSatisfy { Int($0.prefix(13)) != nil })
    }

    @Test func aFileThatCannotBeOpenedFails() {
        #expect(throws: (any Error).self) { try PushLogFile(path: "/nowhere/log") }
    }
}
