// Verifies a signed message of Sealpost, of a sender `webhook` or with events (Standard Webhooks).
//
//   mcs examples/Verify.cs && mono examples/Verify.exe hook.secret ID TIMESTAMP SIGNATURE <body
//
// The arguments are the name of the secret's file, and the request's fields `webhook-id`,
// `webhook-timestamp` and `webhook-signature`.
using System;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

static class Verify {
    const int Tolerance = 300; // Seconds.

    // Whether one of the secrets has signed the message in the last five minutes. Two lines have a
    // secret while one replaces the other. Within these minutes an attacker could replay a message,
    // so store the ids.
    public static bool IsGenuine(string secrets, string id, string timestamp, string signatures, byte[] body, DateTimeOffset now) {
        var isSigned = false;
        if (secrets.StartsWith("\uFEFF", StringComparison.Ordinal)) secrets = secrets.Substring(1);
        var lines = secrets.Split('\r', '\n').Select(line => line.Trim(' ', '\t')).Where(line => line != "").ToArray();
        if (lines.Length == 0) throw new FormatException("there is no secret");
        foreach (var line in lines) {
            using (var code = new HMACSHA256(Key(line))) {
                var digest = code.ComputeHash(Encoding.UTF8.GetBytes($"{id}.{timestamp}.").Concat(body).ToArray());
                var expected = "v1," + Convert.ToBase64String(digest);
                foreach (var signature in signatures.Split(' ')) isSigned |= IsEqual(signature, expected);
            }
        }
        return isSigned && long.TryParse(timestamp, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)
            && Math.Abs(now.ToUnixTimeSeconds() - seconds) <= Tolerance;
    }

    // Compares in constant time.
    static bool IsEqual(string one, string other) {
        var difference = one.Length ^ other.Length;
        for (var index = 0; index < Math.Min(one.Length, other.Length); index++) difference |= one[index] ^ other[index];
        return difference == 0;
    }

    // Reads both alphabets of base64, with or without padding, as the server does.
    static byte[] Key(string secret) {
        if (secret.Any(letter => letter < ' ' || letter > '~')) throw new FormatException("a secret may only have ASCII characters and blanks");
        var key = Encoding.UTF8.GetBytes(secret);
        if (secret.StartsWith("whsec_", StringComparison.Ordinal)) {
            var text = secret.Substring(6).Replace('-', '+').Replace('_', '/').TrimEnd('=');
            key = Convert.FromBase64String(text + new string('=', (4 - text.Length % 4) % 4));
        }
        if (key.Length < 24) throw new FormatException("a secret is whsec_ and base64, or a text, of at least 24 bytes");
        return key;
    }

    static int Main(string[] arguments) {
        var body = new MemoryStream();
        Console.OpenStandardInput().CopyTo(body);
        var secrets = Encoding.UTF8.GetString(File.ReadAllBytes(arguments[0])); // `ReadAllText` would remove a byte order mark, too.
        return IsGenuine(secrets, arguments[1], arguments[2], arguments[3], body.ToArray(), DateTimeOffset.UtcNow) ? 0 : 1;
    }
}
