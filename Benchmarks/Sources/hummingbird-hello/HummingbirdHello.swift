import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOSSL

/// Hummingbird doing nothing: the yardstick of `make bench`.
///
/// Takes the port, and for TLS the files of a certificate and its key.
@main
struct HummingbirdHello {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let port = arguments.first.flatMap { Int($0) } ?? 8081
        let router = Router()
        router.get("/") { _, _ in "Hello, World!" }
        var logger = Logger(label: "hummingbird-hello")
        logger.logLevel = .error
        let application = Application(
            router: router,
            server: try self.server(arguments.dropFirst()),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        )
        try await application.runService()
    }

    private static func server(_ files: ArraySlice<String>) throws -> HTTPServerBuilder {
        guard files.count == 2, let certificate = files.first, let key = files.last else { return .http1() }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        )
        return try .tls(.http1(), tlsConfiguration: configuration)
    }
}
