import PushClient
import Testing

/// Expects that the server does not take the credentials of a call.
func expectUnauthorized(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () async throws -> some Any
) async {
    do {
        _ = try await call()
        Issue.record("it was let in", sourceLocation: sourceLocation)
    } catch PushClientError.unauthorized {
        // As expected.
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}
