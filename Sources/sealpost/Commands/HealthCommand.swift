import ArgumentParser
import PushAPI
import PushApplication
import Reactor

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask the running server whether it is alive, for a container's health check.",
        discussion: """
            Asks /healthz at the first address of server.listen; 0.0.0.0 and [::] stand for this machine. Exits with 0, or with \
            1 and one line that says why.
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Ask /readyz: whether the server can store and deliver notifications.")
    var ready = false

    @Option(help: "The address to ask. Needed if systemd opens the socket, or if server.listen has port 0.")
    var address: String?

    @Option(help: "The timeout in seconds, 1 to 60.")
    var timeout = 3

    func validate() throws {
        if !(1...60).contains(self.timeout) { throw ValidationError("--timeout must be 1 to 60 seconds") }
        if let address, SocketAddress.listening(at: address) == nil {
            throw ValidationError("--address must be a numeric address and a port, a port alone, or unix: and a path")
        }
    }

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let check = try self.check
            let answer = try await check.ask(self.ready ? .isReady : .isAlive, timeout: .seconds(self.timeout))
            let result = JSONValue.object([
                .init("Address", .string(check.address.description)), .init("Status", .string(answer)),
            ])
            self.output.show(result, "\(check.address) is \(answer)")
        }
    }

    /// If the configuration is not valid, the exit code is 1, as for any other failure: Docker
    /// gives a meaning only to the exit codes 0 and 1.
    private var check: HealthCheck {
        get throws {
            do {
                let configuration = try self.options.load()
                guard let address = self.address.flatMap(SocketAddress.listening(at:)) else {
                    return try HealthCheck(configuration)
                }
                return try HealthCheck(address, isSecure: configuration.tls != nil)
            } catch let error as ConfigurationError {
                throw CommandFailure(error.description)
            }
        }
    }
}
