import Foundation
import PushTesting
import Testing

@testable import PushApplication

/// The note with the version that the linker writes into the program of `make release`.
@Suite(.timeLimit(.minutes(5))) struct PackageNoteTests {
    @Test func theNoteOfTheLinkerIsRead() async throws {
        let folder = try TemporaryFolder()
        let script = """
            echo | as -o empty.o && ld "--package-metadata=$0" -o program empty.o
            """
        let json = #"{"type":"git","name":"sealpost","commit":"3f2a91c8d4e1-dirty"}"#
        let path = ["PATH": "/usr/bin:/bin"]
        let ended = try await ChildProcess("/bin/sh", ["-c", script, json], in: folder.path, environment: path).end()
        try #require(ended.code == 0, "\(ended.errors)")
        let file = try Data(contentsOf: URL(fileURLWithPath: folder.file("program")))
        #expect(PackageNote(in: file)?.values["commit"] == "3f2a91c8d4e1-dirty")
        // The reader must not crash on a truncated or changed file.
        for count in 0..<min(file.count, 1024) {
            #expect(PackageNote(in: file.prefix(count))?.values.isEmpty != true)
            for value: UInt8 in [0, 0x7F, 0xFF] {
                var changed = file
                changed[count] = value
                _ = PackageNote(in: changed)
            }
        }
    }

    @Test func aFileWithoutANoteGivesNil() throws {
        #expect(PackageNote(in: Data()) == nil)
        #expect(PackageNote(in: try Data(contentsOf: URL(fileURLWithPath: "/bin/true"))) == nil)
    }
}
