import Foundation
import Testing

/// Runs the fuzzer's seeds and its earlier findings in the ordinary suite.
@Suite(.timeLimit(.minutes(5))) struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Corpus")

    @Test(arguments: FuzzTarget.allCases)
    func noSeedContradictsItself(target: FuzzTarget) throws {
        let folder = Self.folder.appending(path: target.rawValue)
        let seeds = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!seeds.isEmpty)
        for seed in seeds {
            let bytes = try Array(Data(contentsOf: seed))
            #expect(throws: Never.self, "\(seed.lastPathComponent)") { try target.run(bytes) }
        }
    }
}
