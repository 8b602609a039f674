import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

/// AsyncHTTPClient and nothing else: the same pushes as the product's to APNs, without an outbox.
///
/// Takes endpoint, file of authorities, number of pushes, and how many are under way at once; prints
/// `{"pushes":…,"seconds":…,"processorSeconds":…}`.
@main
struct PushAsyncHTTPClient {
    private static let body = ByteBuffer(string: "{\"aps\":{\"content-available\":1},\"secureId\":\"1234567890\"}")

    let client: HTTPClient
    let endpoint: String
    let authorization = "bearer " + String(repeating: "a", count: 180)

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4, let pushes = Int(arguments[2]), let concurrency = Int(arguments[3]) else {
            throw Failure("ENDPOINT CA_FILE PUSHES CONCURRENCY")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(arguments[1])
        let client = HTTPClient(configuration: HTTPClient.Configuration(tlsConfiguration: tls))
        let start = ContinuousClock.now
        try await PushAsyncHTTPClient(client: client, endpoint: arguments[0]).send(pushes, concurrency: concurrency)
        let seconds = start.duration(to: .now) / .seconds(1)
        print(
            String(
                format: "{\"pushes\":%d,\"seconds\":%.3f,\"processorSeconds\":%.3f}",
                pushes,
                seconds,
                self.processorSeconds()
            )
        )
        try await client.shutdown()
    }

    private func send(_ pushes: Int, concurrency: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var begun = 0
            while begun < min(concurrency, pushes) {
                begun += 1
                group.addTask { [begun] in try await self.send(begun) }
            }
            while try await group.next() != nil {
                guard begun < pushes else { continue }
                begun += 1
                group.addTask { [begun] in try await self.send(begun) }
            }
        }
    }

    /// Another device and another id for each push, as in life.
    private func send(_ number: Int) async throws {
        let digits = String(number, radix: 16)
        let padded = String(repeating: "0", count: 64 - digits.utf8.count) + digits
        var request = HTTPClientRequest(url: "\(self.endpoint)/3/device/\(padded)")
        request.method = .POST
        request.headers = [
            "authorization": self.authorization,
            "apns-id": "\(padded.suffix(8))-0000-4000-8000-\(padded.suffix(12))",
            "apns-push-type": "background",
            "apns-priority": "5",
            "apns-expiration": "1900000000",
            "apns-topic": "com.example.app",
            "apns-collapse-id": "1234567890",
        ]
        request.body = .bytes(Self.body)
        let response = try await self.client.execute(request, timeout: .seconds(15))
        guard response.status == .ok, response.version == .http2 else { throw Failure("answered \(response.status)") }
        _ = try await response.body.collect(upTo: 65536)
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        return Double(seconds) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
