import Hummingbird
import Logging

/// Hummingbird doing nothing: the yardstick of `make bench`. Takes the port as its only argument.
@main
struct HummingbirdHello {
    static func main() async throws {
        let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8081
        let router = Router()
        router.get("/") { _, _ in "Hello, World!" }
        var logger = Logger(label: "hummingbird-hello")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        )
        try await application.runService()
    }
}
