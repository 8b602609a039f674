import CLibFuzzer
import Foundation

/// Hands the command line over to libFuzzer.
///
/// The target's name comes in `FUZZ_TARGET`, not in an argument: while merging, libFuzzer starts itself again with its
/// own arguments.
@main
enum Fuzz {
    fileprivate static let target = ProcessInfo.processInfo.environment["FUZZ_TARGET"].flatMap(FuzzTarget.init)

    static func main() {
        guard Self.target != nil else {
            let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
            fatalError("FUZZ_TARGET must be one of \(names)")
        }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        // SwiftPM wants a `main` of ours, so that libFuzzer's is not used.
        exit(LLVMFuzzerRunDriver(&count, &arguments, testOneInput))
    }
}

/// Under the name by which libFuzzer is linked.
///
/// A target's complaint becomes a trap, for traps are what libFuzzer reports.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try Fuzz.target?.run(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        fatalError("a contradiction was found")
    }
}
