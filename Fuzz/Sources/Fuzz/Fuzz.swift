import CLibFuzzer
import Foundation

/// Passes the command line to libFuzzer.
///
/// `FUZZ_TARGET` contains the target's name. An argument would not do: while merging, libFuzzer
/// starts itself again with its own arguments.
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
        // SwiftPM requires our own `main`, which replaces libFuzzer's.
        exit(LLVMFuzzerRunDriver(&count, &arguments, testOneInput))
    }
}

/// The function has the name that libFuzzer links.
///
/// It turns a target's contradiction into a trap, because libFuzzer reports traps.
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
