import Foundation
import PushTesting

/// A separate terminal for a command, with a simulated typist.
enum Terminal {
    /// For each step, waits until the terminal shows the text, and then types the answer unless it
    /// is `nil`. Returns everything that the terminal showed.
    static func run(
        _ arguments: [String],
        in folder: TemporaryFolder,
        _ steps: [(text: String, answer: String?)]
    ) async throws -> ChildProcess.Ended {
        let json = try JSONEncoder().encode(steps.map { [$0.text, $0.answer] })
        let words = ["-c", self.script, String(decoding: json, as: UTF8.self), Daemon.executable] + arguments
        return try await ChildProcess("/usr/bin/python3", words, in: folder.path).end()
    }

    /// The script types an answer only after its text has appeared, because a password prompt
    /// discards earlier input.
    private static let script = """
        import json, os, pty, sys
        child, terminal = pty.fork()
        if child == 0:
            os.execv(sys.argv[2], sys.argv[2:])
        shown, seen = b"", 0
        def read():
            global shown
            try:
                more = os.read(terminal, 4096)
            except OSError:
                more = b""
            shown += more
            return bool(more)
        for text, answer in json.loads(sys.argv[1]):
            text = text.encode()
            while text not in shown[seen:]:
                if not read():
                    print("missing:", text.decode(), file=sys.stderr)
                    break
            else:
                seen = shown.index(text, seen) + len(text)
                if answer is not None:
                    os.write(terminal, answer.encode() + (b"" if answer == "\\x04" else b"\\n"))
                continue
            break
        while read():
            pass
        print(shown.decode().replace("\\r\\n", "\\n"))
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
}
