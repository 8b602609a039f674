import HTTPTypes

@testable import SocketHTTP

/// Answers with a description of the request. For the path `/unread`, it does not read the body.
struct DescribingResponder: Responder {
    func respond(to request: Request) -> Reply {
        .later { await self.answer(request) }
    }

    private func answer(_ request: Request) async -> Response {
        do throws(BodyError) {
            let body = request.head.path == "/unread" ? [] : try await request.body.collect()
            return Self.response(.ok, Self.description(of: request.head) + (body.isEmpty ? [] : "\n\n".latin1 + body))
        } catch {
            return Self.response(error.refusal.status, error.refusal.detail.latin1)
        }
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        let fields = head.map { " (\($0.count) fields)" } ?? ""
        return Self.response(refusal.status, "\(refusal.detail)\(fields)".latin1)
    }

    /// A response with a constant date.
    private static func response(_ status: HTTPResponse.Status, _ body: [UInt8]) -> Response {
        Response(status: status, fields: [.date: "Sun, 06 Nov 1994 08:49:37 GMT"], body: body)
    }

    private static func description(of head: RequestHead) -> [UInt8] {
        var words = [head.method.rawValue, head.path]
        if let query = head.query { words.append("?\(query)") }
        if let authority = head.authority { words.append("@\(authority)") }
        var description = words.joined(separator: " ").latin1
        for line in head.parts.lines {
            let name = head.parts.bytes[line.name.range]
            guard String(latin1: name).lowercased() != "host" else { continue }
            description += "\n".latin1 + name + ": ".latin1 + head.parts.bytes[line.value.range]
        }
        return description
    }
}
