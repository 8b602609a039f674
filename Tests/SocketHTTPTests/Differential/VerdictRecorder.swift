import Bytes
import HTTPTypes
import Reactor
import Synchronization

@testable import SocketHTTP

/// Records the requests that the server passes to a handler or refuses, one stream after the
/// other.
final class VerdictRecorder: Responder {
    private struct Notes {
        var requests: [[UInt8]] = []
        var refusal: String?
    }

    /// The compiler demands a mutex, because several event loops may share a responder. Here there
    /// is only one loop.
    private let notes = Mutex(Notes())

    /// Serves `stream` in two portions, split at `border`, and returns the verdict. Call this
    /// method on `loop`.
    func verdict(_ stream: [UInt8], border: Int, by server: HTTPServer, on loop: EventLoop) async -> Verdict {
        self.notes.withLock { $0 = Notes() }
        let connection = ScriptedStream(stream, [border], then: .waits)
        await server.serveConnection(connection, peer: .unix, on: loop)
        let notes = self.notes.withLock { $0 }
        let ending: Verdict.Ending = notes.refusal != nil ? .refused : connection.wasAwaited ? .waiting : .closed
        return Verdict(ending: ending, reason: notes.refusal ?? "", requests: notes.requests)
    }

    func respond(to request: Request) -> Reply {
        .later { await self.answer(request) }
    }

    private func answer(_ request: Request) async -> Response {
        do throws(BodyError) {
            let body = try await request.body.collect()
            let description = Self.canonical(request.head, body)
            self.notes.withLock { $0.requests.append(description) }
            return Response(status: .ok)
        } catch .closed {
            return Response(status: .badRequest)
        } catch {
            self.notes.withLock { $0.refusal = "\(error)" }
            return Response(status: error.refusal.status)
        }
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.notes.withLock { $0.refusal = "\(refusal)" }
        return Response(status: refusal.status)
    }

    /// Writes a request in the form in which `h11_oracle.py` writes it.
    private static func canonical(_ head: RequestHead, _ body: [UInt8]) -> [UInt8] {
        let version = head.isVersion10 ? "1.0" : "1.1"
        var text = Array("\(head.method.rawValue) \(head.authority ?? "") \(head.target) \(version)".utf8)
        for line in head.parts.lines {
            let name = head.parts.bytes[line.name.range]
            let value = head.parts.bytes[line.value.range]
            let isCoding = name.count == 17 && String(latin1: name).lowercased() == "transfer-encoding"
            text += Array("\n".utf8) + name + Array(":".utf8) + (isCoding ? value.map(\.lowercased) : Array(value))
        }
        return text + Array("\n\n".utf8) + body
    }
}
