import Glibc
import Reactor
import Testing

@testable import CurlHTTP

@Suite(.timeLimit(.minutes(5))) struct OutboundURLTests {
    @Test(arguments: [
        ("https://a.example", "a.example", UInt16(443)),
        ("https://A.Example:8443/x?y=%2f", "a.example", 8443),
        ("http://127.0.0.1/", "127.0.0.1", 80),
        ("https://[2001:DB8::1]:1/", "[2001:db8::1]", 1),
        ("https://a?b", "a", 443),
    ])
    func urlIsParsedAndKeptAsWritten(text: String, host: String, port: UInt16) throws {
        let url = try #require(OutboundURL(text))
        #expect(url.text == text)
        #expect(url.host == host)
        #expect(url.port == port)
    }

    @Test(arguments: [
        "", "https://", "https:///x", "ftp://a/", "HTTPS://a/", "https:/a", "//a", "file:///etc/passwd",
        "https://user@a/", "https://user:x@a/", "https://a@b/", "https://a#b", "https://a/#b", "https://a\\@b/",
        "https://a b/", "https://a/b c", "https://a/\r\nX: 1", "https://ä/", "https://a/ä", "https://a:0/",
        "https://a:/", "https://a:65536/", "https://a:+1/", "https://a:1x/", "https://[::1/", "https://[]/",
        "https://[::1]x/", "https://[fe80::1%25eth0]/", "https://.a/", "https://a_b/", "https://%61/",
        "https://a/" + String(repeating: "x", count: 2048),
    ])
    func invalidURLsAreRefused(text: String) {
        #expect(OutboundURL(text) == nil)
    }

    @Test(arguments: [("https://a", "https://a/x"), ("https://a/", "https://a/x"), ("https://a/b", "https://a/b/x")])
    func aPathIsAppendedWithOneSlash(base: String, result: String) {
        #expect(OutboundURL(base)?.appending("/x")?.text == result)
    }
}

@Suite(.timeLimit(.minutes(5))) struct HostPatternTests {
    @Test(arguments: [
        ("*.notify.windows.com", "https://db3.notify.windows.com/?t=1", true),
        ("*.notify.windows.com", "https://DB3.Notify.Windows.com/", true),
        ("*.notify.windows.com", "https://a.b.notify.windows.com:443/", true),
        ("*.notify.windows.com", "https://db3.notify.windows.com./", true),
        ("*.notify.windows.com", "https://notify.windows.com/", false),
        ("*.notify.windows.com", "https://evilnotify.windows.com/", false),
        ("*.notify.windows.com", "https://db3.notify.windows.com.evil.org/", false),
        ("*.notify.windows.com", "https://db3.notify.windows.com:8443/", false),
        ("push.example.com", "https://push.example.com/", true),
        ("push.example.com", "https://a.push.example.com/", false),
        ("push.example.com:8443", "https://push.example.com:8443/", true),
        ("push.example.com:8443", "https://push.example.com/", false),
        ("[::1]:8443", "https://[::1]:8443/", true),
    ])
    func aPatternMatchesItsHostsOnItsPort(pattern: String, url: String, matches: Bool) throws {
        let pattern = try #require(HostPattern(pattern))
        #expect(pattern.matches(try #require(OutboundURL(url))) == matches)
    }

    @Test(arguments: [
        ("https://push.example.com/x", true), ("https://Push.Example.com./x", true),
        ("https://a.b.c.example.org/", true),
        ("https://push.example.com:8443/", false), ("https://push.example.com:80/", false), ("https://com/", false),
        ("https://localhost/", false), ("https://a.localhost/", false), ("https://metadata.google.internal/", false),
        ("https://printer.local/", false), ("https://a.test/", false), ("https://127.0.0.1/", false),
        ("https://93.184.216.34/", false), ("https://0x7f.1/", false), ("https://[2606:4700::1111]/", false),
        ("https://a..com/", false),
    ])
    func anyPublicHostHasAPublicNameAndTheUsualPort(url: String, matches: Bool) throws {
        #expect(HostPattern.anyPublic.matches(try #require(OutboundURL(url))) == matches)
    }

    @Test(arguments: [
        "", "*", "*.", "*.com", "a*.example.com", "*.*.example.com", "a/b", "a?", "*.[::1]", "a b", "a:0",
    ])
    func invalidPatternsAreRefused(text: String) {
        #expect(HostPattern(text) == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct AddressPolicyTests {
    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15", "2001:200::1", "2606:4700::1111",
        "2a00:1450::1", "2003::1", "64:ff9b::101:101", "3fff:1000::",
    ])
    func anAddressOfTheInternetIsGlobal(address: String) {
        #expect(AddressPolicy.globalOnly.allows(address))
    }

    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.192", "192.0.2.1",
        "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
        "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255", "168.63.129.16", "::", "::1", "::127.0.0.1",
        "::ffff:1.1.1.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:1ff::1",
        "2001:db8::1", "2002:101:101::", "3fff::1", "3fff:fff::1", "4000::1", "fc00::1", "fd00:ec2::254", "fe80::1",
        "fec0::1", "ff02::1", "5f00::1",
    ])
    func specialAddressesNeedTheOpenPolicy(address: String) {
        #expect(!AddressPolicy.globalOnly.allows(address))
        #expect(AddressPolicy.any.allows(address))
    }

    @Test(arguments: ["", "localhost", "1.1.1", "1.1.1.1.1", "::g"])
    func everyPolicyRefusesInvalidAddresses(text: String) {
        #expect(!AddressPolicy.globalOnly.allows(text))
        #expect(!AddressPolicy.any.allows(text))
    }

    /// Returns the address in the form in which libcurl passes it before it connects: bytes and a
    /// length.
    private func name(of text: String) throws -> [UInt8] {
        _ = try #require(SocketAddress(text.contains(":") ? "[\(text)]:0" : "\(text):0"), "it is no address")
        return SocketAddress.tcp(host: text, port: 0).withName { name, size in
            Array(UnsafeRawBufferPointer(start: name, count: Int(size)))
        }
    }

    @Test(arguments: [
        ("1.1.1.1", true), ("127.0.0.1", false), ("169.254.169.254", false), ("2606:4700::1111", true), ("::1", false),
        ("::ffff:127.0.0.1", false), ("2606:4700::", true), ("fe80::1", false), ("64:ff9b::7f00:1", false),
    ])
    func anAddressToConnectToIsJudgedAsItsText(text: String, isGlobal: Bool) throws {
        let name = try self.name(of: text)
        #expect(name.withUnsafeBytes { AddressPolicy.globalOnly.allows($0) } == isGlobal)
        #expect(name.withUnsafeBytes { AddressPolicy.any.allows($0) })
    }

    /// An address that is shorter than its family requires is invalid, whatever follows it in
    /// memory.
    @Test(arguments: ["1.1.1.1", "2606:4700::1111"])
    func everyPolicyRefusesTruncatedAddresses(text: String) throws {
        let name = try self.name(of: text)
        for count in name.indices {
            name.withUnsafeBytes { bytes in
                let cutOff = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                #expect(!AddressPolicy.globalOnly.allows(cutOff), "\(count) bytes")
                #expect(!AddressPolicy.any.allows(cutOff), "\(count) bytes")
            }
        }
    }

    @Test func everyPolicyRefusesOtherAddressFamilies() {
        for family in [AF_UNSPEC, AF_UNIX, AF_NETLINK] {
            var name = sockaddr_storage()
            name.ss_family = sa_family_t(family)
            withUnsafeBytes(of: name) { bytes in
                #expect(!AddressPolicy.globalOnly.allows(bytes))
                #expect(!AddressPolicy.any.allows(bytes))
            }
        }
    }
}
