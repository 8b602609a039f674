import CurlHTTP
import Foundation
import PushCore
import PushSenders
import PushSimulators

/// Makes a Web Push sender and a push service for the duration of a test.
func withWebPush<Result: Sendable>(
    change: @Sendable (inout WebPushSettings) -> Void = { _ in },
    _ body: @Sendable (WebPushSender, WebPushSimulator, VAPIDKey) async throws -> Result
) async throws -> Result {
    try await withProvider { authority, connection, loop in
        let service = try WebPushSimulator(authority: authority, options: .named)
        let key = try VAPIDKey(Secret(VAPIDKey.generateText()))
        var settings = WebPushSettings(
            key: key,
            subject: "mailto:ops@example.com",
            allowedHosts: ["localhost:\(service.port)"],
            addresses: .any,
            connection: connection
        )
        change(&settings)
        let sender = try WebPushSender(settings, on: loop)
        return try await service.whileRunning { service in
            let result = try await body(sender, service, key)
            await sender.close()
            return result
        }
    }
}
