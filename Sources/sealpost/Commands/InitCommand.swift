import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up a new server: its configuration, its keys, its database and the first administrator.",
        discussion: """
            On a terminal, asks for what no option says; elsewhere, or with --yes or --json, that has its default. Overwrites nothing, and \
            may be run again if it was interrupted. The password is asked for, or read from standard input.
            """
    )

    @Option(name: .customLong("config"), help: "The configuration file to write.")
    var file = "sealpost.yaml"

    @Option(help: "The address to listen on: numeric with a port, or unix: and a path. Default: 127.0.0.1:8080")
    var listen: String?

    @Option(help: "The database: a file, or postgres://… for several servers. Default: var/sealpost.db")
    var database: String?

    @Option(help: "The folder of the keys. Default: the folder of the database's file")
    var keys: String?

    @Option(help: "The server's certificate with its chain, if no proxy terminates TLS. Default: none")
    var certificate: String?

    @Option(help: "The certificate's private key.")
    var privateKey: String?

    @Option(help: "The first administrator's name. Default: none; the server prints a link for creating one")
    var admin: String?

    @OptionGroup var password: PasswordInput

    @Flag(help: "Ask nothing.")
    var yes = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if (self.certificate == nil) != (self.privateKey == nil) {
            throw ValidationError("--certificate and --private-key must be given together")
        }
        if self.password.passwordStdin, self.admin == nil { throw ValidationError("--password-stdin needs --admin") }
    }

    func run() async throws {
        try await reportingErrors(json: self.output.json) {
            let dialogue = self.yes || self.output.json || !InitDialogue.isPossible ? nil : InitDialogue()
            if self.admin != nil, dialogue == nil, !self.password.passwordStdin {
                throw ValidationError(
                    "--admin needs --password-stdin if the command cannot ask (--yes, or no terminal)"
                )
            }
            // An existing configuration is refused before the first question, not after the last
            // one.
            try Initialization.refuseExisting(self.file)
            dialogue?.show("Press Enter to accept the value in brackets.")
            let answers = try self.answers(dialogue)
            let hash = try answers.administrator.map { name in
                guard let dialogue, !self.password.passwordStdin else {
                    return try self.passwordHash(for: name)
                }
                return try dialogue.askPassword(of: name, Configuration().passwords)
            }
            let initialization = Initialization(file: self.file, answers: answers)
            self.show(try await initialization.run(password: hash), initialization)
        }
    }

    // MARK: - Private

    /// Prints what was done, and what to do next.
    private func show(_ done: [String], _ initialization: Initialization) {
        let (answers, steps) = (initialization.answers, initialization.nextSteps)
        let result = JSONValue.object([
            .init("File", .string(self.file)),
            .init("Keys", .string(answers.keys)),
            .init("Administrator", answers.administrator.map { .string($0.description) } ?? .null),
            .init("Done", .array(done.map { .string($0) })),
            .init("Next", .array(steps.map { .string($0) })),
        ])
        self.output.show(result, done + ["", "Next:"] + steps.map { "- " + $0 })
    }

    /// Reads the password of the first administrator, and hashes it. The hash has the default
    /// parameters, since there is no configuration yet.
    private func passwordHash(for name: Username) throws -> PasswordHash {
        let password = try self.password.read()
        do throws(PasswordError) {
            return try PasswordHash(of: password, chosenFor: name, parameters: Configuration().passwords)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The answers: for each question the value of its option, or else the typed answer, or else
    /// the default. Throws `ValidationError` for an option that is not valid.
    private func answers(_ dialogue: InitDialogue?) throws -> InitAnswers {
        var answers = InitAnswers()
        // Environment variables override values of the configuration, also of the new one. The
        // keys must be made in the place where the server will look for them, so the variables
        // count here, too.
        let environment = ProcessInfo.processInfo.environment
        answers.listen =
            try self.checked(self.listen, InitAnswers.listen)
            ?? dialogue?.ask("1. Address to listen on", usual: answers.listen, InitAnswers.listen)
            ?? answers.listen
        answers.database =
            try self.checked(self.database ?? environment["SEALPOST_DATABASE"], InitAnswers.database)
            ?? dialogue?.ask(
                "2. Database, a file or postgres://…",
                usual: answers.database,
                InitAnswers.database
            )
            ?? answers.database
        let keys = InitAnswers.usualKeys(beside: answers.database)
        answers.keys =
            try self.checked(self.keys ?? environment["SEALPOST_KEYS"], InitAnswers.keys)
            ?? dialogue?.ask("3. Folder of the keys", usual: keys, InitAnswers.keys) ?? keys
        answers.tls = try self.tls(dialogue)
        answers.administrator =
            try self.checked(self.admin, InitAnswers.administrator)
            ?? dialogue?.ask(
                "5. Name of the first administrator",
                none: "create it later",
                InitAnswers.administrator
            )
        return answers
    }

    private func tls(_ dialogue: InitDialogue?) throws -> Configuration.TLS.Identity? {
        if let certificate, let privateKey {
            return try self.checked(certificate) { (file) throws(InitRefusal) in
                try InitAnswers.tls(certificate: file, privateKey: privateKey)
            }
        }
        return try dialogue?.ask("4. Certificate and private key, separated by a space", none: "a proxy does TLS") {
            (text) throws(InitRefusal) in
            let files = text.split(separator: " ").map(String.init)
            guard files.count == 2 else {
                throw InitRefusal("two file names are needed, separated by a space: CERTIFICATE KEY")
            }
            return try InitAnswers.tls(certificate: files[0], privateKey: files[1])
        }
    }

    private func checked<Answer>(
        _ option: String?,
        _ check: (String) throws(InitRefusal) -> Answer
    ) throws -> Answer? {
        guard let option else { return nil }
        do throws(InitRefusal) {
            return try check(option)
        } catch {
            throw ValidationError(error.description)
        }
    }
}
