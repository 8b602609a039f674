import Glibc

/// A prompt for a password, which the terminal does not show.
enum PasswordPrompt {
    private static let interrupt: UInt8 = 3
    /// The terminal passes on no longer line.
    private static let longestLine = 4096

    /// Returns the typed line; `nil` at the end of the input. Without a terminal, reads standard
    /// input. Ctrl-C ends the process, and the terminal shows again what is typed.
    ///
    /// readpassphrase(3) is not in glibc, and getpass(3) takes Ctrl-C for a part of the password.
    static func ask(_ prompt: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return getpass(prompt).map { String(cString: $0) } }
        defer { close(terminal) }
        var usual = termios()
        guard tcgetattr(terminal, &usual) == 0 else { return nil }
        var hidden = usual
        hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
        // Ctrl-C ends the line in place of the process, which first has to restore the terminal.
        withUnsafeMutableBytes(of: &hidden.c_cc) { $0[Int(VEOL)] = self.interrupt }
        guard tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 else { return nil }
        _ = prompt.utf8CString.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count - 1) }
        var line = [UInt8](repeating: 0, count: self.longestLine)
        let count = read(terminal, &line, line.count)
        write(terminal, "\n", 1)
        tcsetattr(terminal, TCSAFLUSH, &usual)
        let typed = line.prefix(max(0, count))
        if typed.last == self.interrupt { exit(128 + SIGINT) }
        return typed.isEmpty ? nil : String(decoding: typed.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
