import HTTPTypes
import PushAPI
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// `echo.json`: values of `MyToken` with the server's answer to each, and values that the server
/// refuses.
enum EchoVectors {
    static func file() async throws -> JSONValue {
        let server = try await VectorServer()
        var echoes: [JSONValue] = []
        for token in ["0", "1", "2", "9", "16", "17", "1000", "65535", "2097151", "16777216", "126322566", "126322567"]
        {
            let answer = try await server.fixture.send(.get, "/healthz", user: nil, headers: [("MyToken", token)])
            let echo = try #require(answer.fields[.myToken])
            echoes.append(.members(("token", .string(token)), ("echo", .string(echo))))
        }
        var refused: [JSONValue] = []
        for token in [
            "126322568", "2147483647", "2147483648", "99999999999999999999", "-1", "+1", "", "1.0", "1e3", "0x10",
            "1 0",
            "1,2", "x", "²",
        ] {
            let answer = try await server.fixture.send(.get, "/healthz", user: nil, headers: [("MyToken", token)])
            try answer.expectProblem(.invalidToken)
            #expect(answer.fields[.myToken] == nil)
            refused.append(.string(token))
        }
        return .members(
            ("field", .string(MyToken.fieldName)),
            ("smallest", .number(MyToken.range.lowerBound)),
            ("greatest", .number(MyToken.range.upperBound)),
            ("factor", .number(17)),
            ("summand", .number(3)),
            ("echoes", .array(echoes)),
            ("refused", .array(refused))
        )
    }
}
