import PushClient
import Testing

/// Expects the server to refuse the credentials of a call.
func expectUnauthorized(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () async throws -> some Any
) async {
    do {
        _ = try await call()
        Issue.record("it was let in", sourceLocation: sourceLocation)
    } catch PushClientError.unauthorized {
        // This error is expected.
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}
