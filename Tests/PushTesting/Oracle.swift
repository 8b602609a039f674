internal import Foundation

/// The programs in `Tests/Differential`, by which independent libraries answer the tests'
/// questions.
package enum Oracle {
    /// Runs `script`, which gets each question as a line of JSON. Returns its answers in the order
    /// of the questions.
    ///
    /// Throws `StoreFixture.Missing` if the script's Python environment is missing or out of date,
    /// or if the script fails.
    package static func answers<Answer: Decodable>(
        of script: String,
        to questions: [some Encodable],
        as type: Answer.Type = Answer.self
    ) async throws -> [Answer] {
        let python = Repository.file(".venv-test/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: python) else {
            throw StoreFixture.Missing("scripts/make-test-environment has not been run")
        }
        let folder = try TemporaryFolder()
        let lines = try questions.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try lines.joined(separator: "\n").write(toFile: folder.file("questions"), atomically: true, encoding: .utf8)
        let program = Repository.file("Tests/Differential/\(script)").path
        let arguments = [program, folder.file("questions"), folder.file("answers")]
        let ended = try await ChildProcess(python, arguments, in: folder.path).end()
        guard ended.code == 0 else { throw StoreFixture.Missing("\(script): \(ended.errors)") }
        let output = try String(contentsOfFile: folder.file("answers"), encoding: .utf8)
        return try output.split(separator: "\n").map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }
}
