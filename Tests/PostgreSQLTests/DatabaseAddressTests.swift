import PostgreSQL
import PushTesting
import Testing

@Suite struct DatabaseAddressTests {
    @Test(arguments: [
        ("postgres://db.example/push?sslmode=disable", "postgres://db.example/push?sslmode=disable"),
        ("postgresql://u@127.0.0.1/push", "postgres://u@127.0.0.1/push?sslmode=disable"),
        ("postgres://u%3A@localhost:5433/push", "postgres://u%3A@localhost:5433/push?sslmode=disable"),
        ("postgres://u@[::1]:1/push", "postgres://u@[::1]:1/push?sslmode=disable"),
        ("postgres:///push?host=/run/postgresql", "postgres://%2Frun%2Fpostgresql/push?sslmode=disable"),
        ("postgres://u@/p?host=/run/a,/b&port=7", "postgres://u@%2Frun%2Fa:7,%2Fb:7/p?sslmode=disable"),
        ("postgres://%2Frun%2Fpostgresql:6/push", "postgres://%2Frun%2Fpostgresql:6/push?sslmode=disable"),
        (
            "postgres://a:1,b:2/push?sslrootcert=ca.pem&sslcert=c&sslkey=k",
            "postgres://a:1,b:2/push?sslmode=verify-full&sslrootcert=ca.pem&sslcert=c&sslkey=k"
        ),
        ("postgres://a/push?sslmode=verify-ca&sslrootcert=/x", "postgres://a/push?sslmode=verify-ca&sslrootcert=%2Fx"),
        ("postgres://a/p%2Fx%20y?sslmode=require", "postgres://a/p%2Fx%20y?sslmode=require"),
    ])
    func anAddressIsRead(text: String, canonical: String) throws {
        let address = try DatabaseAddress(text)
        #expect(address.description == canonical)
        #expect(try DatabaseAddress(canonical).description == canonical)
    }

    /// An address that somebody copies must not lack an option, such as `sslrootcert`.
    @Test(arguments: [
        "config/sealpost.yaml", "docs/operate/postgresql.md", "docs/scale.md", "docs/upgrade.md",
        "examples/cluster.yaml", "examples/kubernetes/postgresql.yaml",
    ])
    func theAddressesOfTheDocumentationAreComplete(page: String) throws {
        let addresses = try Repository.text(of: page).matches(of: /postgres:\/\/\w+@[^\s'"`]+/).map(\.output)
        #expect(!addresses.isEmpty)
        for address in addresses {
            #expect(throws: Never.self, "\(address)") { try DatabaseAddress(String(address)) { _ in "secret" } }
        }
    }

    @Test(arguments: [
        ("", "postgres://"), ("mysql://a/b", "postgres://"), ("postgres:/a/b", "postgres://"),
        ("POSTGRES://a/b", "postgres://"),
        ("postgres://a", "database is missing"), ("postgres://a/", "the name of one database"),
        ("postgres://a?sslmode=require", "database is missing"),
        ("postgres://a/b/c", "the name of one database"), ("postgres:///b", "a host is missing"),
        ("postgres://u@/b", "a host is missing"),
        ("postgres://a,/b", "neither"), ("postgres://a b/c", "percent-encoded"),
        ("postgres://a/b#c", "percent-encoded"),
        ("postgres://u@p@a/b", "%40"), ("postgres://@a/b", "user"), ("postgres://a:0/b", "port"),
        ("postgres://a:65536/b", "port"), ("postgres://a:/b", "port"), ("postgres://a:+1/b", "port"),
        ("postgres://a:1:2/b", "port"), ("postgres://[::1/b", "bracket"), ("postgres://[a]/b", "IPv6"),
        ("postgres://[::1]x/b", "only a port may follow"), ("postgres://::1/b", "port"), ("postgres://-a/b", "neither"),
        ("postgres://a;b/c", "neither"), ("postgres://%2Fa%2Cb/c", "comma"), ("postgres://a/b?", "option"),
        ("postgres://a/b?sslmode", "option"), ("postgres://a/b?sslmode=", "option"),
        ("postgres://a/b?sslmode=prefer", "sslmode"),
        ("postgres://a/b?sslmode=require&sslmode=require", "twice"), ("postgres://a/b", "sslrootcert"),
        ("postgres://a/b?sslmode=verify-ca", "sslrootcert"),
        ("postgres://a/b?sslmode=require&sslcert=x", "set together"),
        ("postgres://localhost/b?connect_timeout=1", "connect_timeout"),
        ("postgres://localhost/b?options=-c", "the option options"),
        ("postgres://localhost/b?port=1", "needs the option host"), ("postgres://a/b?host=/c", "twice"),
        ("postgres://localhost/b?passwordFile=/dev/null", "exactly one line"), ("postgres://a/%00", "NUL"),
        ("postgres://u:p@localhost/b", "set passwordFile"), ("postgres://u:@localhost/b", "passwordFile"),
        ("postgres://u:p/w@localhost/b", "the name of one database"),
        ("postgres://u:1/w@localhost", "the name of one database"),
        ("postgres://a/%4", "hexadecimal"), ("postgres://a/%+4", "hexadecimal"), ("postgres://a/%FF", "UTF-8"),
    ])
    func anInvalidAddressIsRefusedWithAReason(text: String, reason: String) {
        let error = #expect(throws: AddressError.self) { try DatabaseAddress(text) }
        #expect(error.map { "\($0)".contains(reason) } == true, "\(String(describing: error))")
    }

    @Test func thePasswordIsInNoText() throws {
        let address = try DatabaseAddress("postgres://u@localhost/b?passwordFile=/secret") { file in
            #expect(file == "/secret")
            return "hidden\n"
        }
        var dumped = ""
        dump(address, to: &dumped)
        #expect(!"\(address) \(String(reflecting: address)) \(dumped)".contains("hidden"))
        for text in [
            "postgres://u:hidden@a/b", "postgres://u:hidden@-/b", "postgres://u:hidden@x@a/b", "postgres://u:hidden",
            "postgres://u@localhost/b?password=hidden", "postgres://u:1/hidden@localhost",
        ] {
            let error = #expect(throws: AddressError.self) { try DatabaseAddress(text) }
            #expect(error.map { "\($0)".contains("hidden") } == false)
        }
    }
}
