internal import PushStore
internal import SocketHTTP

/// The next step of a handler: an answer, the read of a notification, or work that may wait.
enum Step {
    case answer(Response)
    /// Calls `then` after the notification is read. No async function is needed for the wait.
    case read(any PendingNotification, then: (RequestContext) throws -> Step)
    case work(() async throws -> Response)

    /// Runs this step and all further steps, and returns the answer.
    func response(to context: RequestContext) async throws -> Response {
        var step = self
        while true {
            switch step {
            case .answer(let response): return response
            case .work(let work): return try await work()
            case .read(let pending, let then):
                await withUnsafeContinuation { pending.begin(resume: $0) }
                step = try then(context)
            }
        }
    }
}

/// A request that waits until a notification is read.
final class ReadWait: RequestWait {
    private let server: PushServer
    private let pending: any PendingNotification
    private let then: (RequestContext) throws -> Step
    private let context: RequestContext
    private let exchange: Exchange

    init(
        _ server: PushServer,
        _ pending: any PendingNotification,
        then: @escaping (RequestContext) throws -> Step,
        _ context: RequestContext,
        _ exchange: Exchange
    ) {
        self.server = server
        self.pending = pending
        self.then = then
        self.context = context
        self.exchange = exchange
    }

    func begin(resume caller: UnsafeContinuation<Void, Never>) {
        self.pending.begin(resume: caller)
    }

    func next() -> Reply {
        self.server.resume(self.then, self.context, in: self.exchange)
    }
}
