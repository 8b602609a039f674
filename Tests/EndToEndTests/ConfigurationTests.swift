import Foundation
import PushCore
import PushSQLite
import PushSenders
import PushServer
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushApplication
@testable import sealpost

@Suite(.timeLimit(.minutes(5))) struct ConfigurationTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func load(_ yaml: String, environment: [String: String] = [:]) throws -> Configuration {
        let file = self.folder.file("sealpost.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        return try Configuration.load(file: file, environment: environment)
    }

    @Test func withoutFileAndEnvironmentTheDefaultsHold() throws {
        let configuration = try Configuration.load(file: nil, environment: ["PATH": "/bin"])
        #expect(configuration.listen == ["127.0.0.1:8080"])
        #expect(configuration.database == "var/sealpost.db")
        #expect(configuration.senders == [Platform("stream"): .stream])
    }

    @Test func theEnvironmentOverridesTheFile() throws {
        let configuration = try self.load(
            "server: {listen: ['127.0.0.1:1', '127.0.0.1:2'], limits: {bodyBytes: 2000}}\nsenders: {a: {type: apns}}",
            environment: [
                "SEALPOST_SERVER_LISTEN": "[127.0.0.1:3, 'unix:/tmp/x']", "SEALPOST_SERVER_LIMITS_BODYBYTES": "3000",
                "SEALPOST_LOG_LEVEL": "debug", "SEALPOST_SENDERS_A_KEYFILE": "k", "SEALPOST_SENDERS_A_KEYID": "i",
                "SEALPOST_SENDERS_A_TEAMID": "t", "SEALPOST_SENDERS_A_TOPIC": "o",
                "SEALPOST_SENDERS_A_ENVELOPE": "alert", "SEALPOST_SENDERS_A_ALERT_TITLEKEY": "T",
            ]
        )
        #expect(configuration.listen == ["127.0.0.1:3", "unix:/tmp/x"])
        #expect(configuration.limits.bodyBytes == 3000)
        #expect(configuration.logLevel == "debug")
        var placeholder = AlertPlaceholder()
        placeholder.titleKey = "T"
        let apns = SenderConfiguration.APNs(
            keyFile: "k",
            keyID: "i",
            teamID: "t",
            topic: "o",
            envelope: .alert(placeholder)
        )
        #expect(configuration.senders == [Platform("a"): .apns(apns), Platform("stream"): .stream])
    }

    /// The variables that Kubernetes sets for services named `sealpost` and `sealpost-db`.
    private static let serviceVariables = [
        "SEALPOST_SERVICE_HOST": "10.96.0.10", "SEALPOST_SERVICE_PORT": "8080", "SEALPOST_SERVICE_PORT_HTTP": "8080",
        "SEALPOST_PORT": "tcp://10.96.0.10:8080", "SEALPOST_PORT_8080_TCP": "tcp://10.96.0.10:8080",
        "SEALPOST_PORT_8080_TCP_PROTO": "tcp", "SEALPOST_PORT_8080_TCP_PORT": "8080",
        "SEALPOST_PORT_8080_TCP_ADDR": "10.96.0.10", "SEALPOST_DB_SERVICE_HOST": "fd00::1",
        "SEALPOST_DB_PORT": "tcp://[fd00::1]:5432", "SEALPOST_DB_PORT_5432_TCP_ADDR": "fd00::1",
    ]

    @Test func variablesOfKubernetesServicesAreIgnored() throws {
        let configuration = try Configuration.load(file: nil, environment: Self.serviceVariables)
        #expect(configuration.listen == ["127.0.0.1:8080"])
    }

    /// These variables resemble those of Kubernetes, but could just as well be misspelt keys of
    /// the configuration.
    @Test(arguments: [
        ("PORT", "8080"), ("SERVICE_HOST", "sealpost.example"), ("SERVICE_PORT", "http"), ("PORTS", "tcp://10.0.0.1:1"),
        ("PORT_8080_TCP_PROTO", "http"), ("PORT_8080_TCP_ADDR", "sealpost"), ("PORT_8080_TCP_PORT", "80808"),
        ("PORT_X_TCP", "tcp://10.0.0.1:1"), ("PORT", "http://10.0.0.1:1"),
    ])
    func aVariableOfAnotherShapeIsRefused(name: String, value: String) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, environment: ["SEALPOST_\(name)": value])
        }
        #expect("\(try #require(error))".hasPrefix("SEALPOST_\(name): unknown environment variable"))
    }

    @Test func theEnvironmentAloneMakesSendersAppsAndTemplates() throws {
        let configuration = try Configuration.load(
            file: nil,
            environment: [
                "SEALPOST_SENDERS_APNS_TYPE": "apns", "SEALPOST_SENDERS_APNS_KEYFILE": "k",
                "SEALPOST_SENDERS_APNS_KEYID": "i", "SEALPOST_SENDERS_APNS_TEAMID": "t",
                "SEALPOST_SENDERS_APNS_TOPIC": "o", "SEALPOST_SENDERS_APNS_ENVELOPE": "alert",
                "SEALPOST_SENDERS_APNS_ALERT_SOUND": "ding", "SEALPOST_SENDERS_APNS_BACKGROUNDINTERVAL": "5m",
                "SEALPOST_SENDERS_APNS_LOOKINTERVAL": "20m", "SEALPOST_SENDERS_APNS_BADGE": "unread",
                "SEALPOST_SENDERS_OWN_HOOK_TYPE": "webhook", "SEALPOST_SENDERS_OWN_HOOK_URL": "https://h.example/",
                "SEALPOST_SENDERS_OWN_HOOK_SECRETFILE": "s", "SEALPOST_SENDERS_OWN_HOOK_DIRECT": "true",
                "SEALPOST_APPS_BANK_SENDERS_STREAM_TYPE": "stream",
                "SEALPOST_ALERTS_TEMPLATES_VISIT_BODYKEY": "VISIT", "SEALPOST_TOKEN": "spt_x", "SEALPOST_CONFIG": "x",
            ]
        )
        var placeholder = AlertPlaceholder()
        placeholder.sound = "ding"
        var apns = SenderConfiguration.APNs(
            keyFile: "k",
            keyID: "i",
            teamID: "t",
            topic: "o",
            envelope: .alert(placeholder)
        )
        (apns.backgroundInterval, apns.lookInterval, apns.sendsUnread) = (300, 1200, true)
        let bank = try #require(AppName("bank"))
        #expect(
            configuration.senders == [
                Platform("apns"): .apns(apns),
                Platform("own_hook"): .webhook(.init(url: "https://h.example/", secretFile: "s")),
                Platform("stream"): .stream, Platform("stream", of: bank): .stream,
            ]
        )
        #expect(configuration.directSenders == [Platform("own_hook")])
        #expect(configuration.server.alerts.templates["visit"]?.texts == [.bodyKey: "VISIT"])
    }

    /// `SEALPOST_SENDERS_MY_HOOK_TYPE` overrides the type of the sender `my-hook` in the file. It
    /// must not create another sender.
    @Test func aVariableOfASenderInTheFileMakesNoOther() throws {
        let yaml = "senders: {my-hook: {type: stream}}"
        let environment = [
            "SEALPOST_SENDERS_MY_HOOK_TYPE": "webhook", "SEALPOST_SENDERS_MY_HOOK_URL": "u",
            "SEALPOST_SENDERS_MY_HOOK_SECRETFILE": "s",
        ]
        let senders = try self.load(yaml, environment: environment).senders
        let webhook = SenderConfiguration.webhook(.init(url: "u", secretFile: "s"))
        #expect(senders == [Platform("my-hook"): webhook, Platform("stream"): .stream])
    }

    /// Two operators with apps for Apple's devices need different values for three keys only. Two
    /// operators with apps for Android need different values for one key only.
    @Test func aSenderNeedsOnlyTheKeysThatDiffer() throws {
        let file = "/keys/AuthKey_ABC123DEFG.p8"
        let apns = SenderConfiguration.APNs(
            keyFile: file,
            keyID: "ABC123DEFG",
            teamID: "t",
            topic: "o",
            envelope: .alert(AlertPlaceholder())
        )
        let fcm = SenderConfiguration.FCM(credentials: .file("a.json"))
        let expected = [
            Platform("apns"): SenderConfiguration.apns(apns), Platform("fcm"): .fcm(fcm), Platform("stream"): .stream,
        ]
        let yaml = "senders: {apns: {keyFile: \(file), teamID: t, topic: o}, fcm: {serviceAccount: a.json}}"
        #expect(try self.load(yaml).senders == expected)
        let environment = [
            "SEALPOST_SENDERS_APNS_KEYFILE": file, "SEALPOST_SENDERS_APNS_TEAMID": "t",
            "SEALPOST_SENDERS_APNS_TOPIC": "o", "SEALPOST_SENDERS_FCM_SERVICEACCOUNT": "a.json",
        ]
        #expect(try Configuration.load(file: nil, environment: environment).senders == expected)
    }

    /// The variable could mean the key `sandbox` of the sender `apns`, or a key of the sender
    /// `apns-sandbox`.
    @Test func aVariableBelongsToTheSenderWithTheLongestName() throws {
        let environment = [
            "SEALPOST_SENDERS_APNS_SANDBOX_TYPE": "webhook", "SEALPOST_SENDERS_APNS_SANDBOX_URL": "u",
            "SEALPOST_SENDERS_APNS_SANDBOX_SECRETFILE": "s", "SEALPOST_SENDERS_STREAM": "null",
        ]
        let senders = try Configuration.load(file: nil, environment: environment).senders
        #expect(senders == [Platform("apns_sandbox"): .webhook(.init(url: "u", secretFile: "s"))])
    }

    @Test(arguments: [
        ("", ["stream"]), ("senders: {webpush: {subject: a}}", ["stream", "webpush"]),
        ("senders: {stream: null, webpush: {subject: a}}", ["webpush"]), ("senders: {stream: {}}", ["stream"]),
        ("senders: {stream: null, own: {type: stream}}", ["own"]), ("senders: {stream: null}", []),
    ])
    func theStreamStaysUnlessItIsNull(yaml: String, names: [String]) throws {
        #expect(try self.load(yaml).senders.keys.map(\.name).sorted() == names)
    }

    @Test func aSenderOfTheEnvironmentNeedsItsType() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, environment: ["SEALPOST_SENDERS_IOS_KEYFILE": "k"])
        }
        let hint = "unset it or correct its name, or set the sender's type, such as SEALPOST_SENDERS_OWN_TYPE"
        #expect("\(try #require(error))" == "SEALPOST_SENDERS_IOS_KEYFILE: unknown environment variable; \(hint)")
    }

    @Test(arguments: [
        (["SERVER_LISTEN": ""], "SEALPOST_SERVER_LISTEN: needs at least one address"),
        (["SERVER_LISTEN": "[]"], "SEALPOST_SERVER_LISTEN: needs at least one address"),
        (["SERVER_LISTEN": " , "], "SEALPOST_SERVER_LISTEN: needs at least one address"),
        (["SERVER_LISTEN": "[1"], "SEALPOST_SERVER_LISTEN: lacks the ] of the list"),
        (["SERVER_LISTEN": "['a]"], "SEALPOST_SERVER_LISTEN: is not YAML: "),
        (["KEYS": ""], "SEALPOST_KEYS: must not be empty; leave it out for the default"),
        (["DATABASE": ""], "SEALPOST_DATABASE: must not be empty"),
        (["DATABASE": "mysql://h/d"], "SEALPOST_DATABASE: "),
        (["LOG_FILE": ""], "SEALPOST_LOG_FILE: must not be empty"),
        (["SENDERS_APNS_TYPE": "apns"], "SEALPOST_SENDERS_APNS_KEYFILE: is missing"),
        (["SERVER_PROXYPROTOCOL": "true"], "SEALPOST_SERVER_PROXYPROTOCOL: it needs trustedProxies"),
        (["SERVER_TLS_CERTIFICATE": "a"], "SEALPOST_SERVER_TLS_PRIVATEKEY: is missing"),
        (["APPS_BANK_SENDERS_A_TYPE": "webhook"], "SEALPOST_APPS_BANK_SENDERS_A_URL: is missing"),
    ])
    func anErrorNamesTheVariable(variables: [String: String], message: String) throws {
        let environment = Dictionary(uniqueKeysWithValues: variables.map { ("SEALPOST_\($0)", $1) })
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, environment: environment)
        }
        #expect("\(try #require(error))".hasPrefix(message), "\(String(describing: error))")
    }

    /// A variable that sets no key is not the cause of an error in the file.
    @Test func aVariableWithTheNameOfASectionIsNotBlamed() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try self.load("notifications: {maxPayload: x}", environment: ["SEALPOST_NOTIFICATIONS": "1"])
        }
        #expect("\(try #require(error))".contains("sealpost.yaml:1: notifications.maxPayload: must be a whole number"))
    }

    @Test(arguments: [
        ("log: {}\nserver:\n  loops: 1\n  listen: a\n  loops : 2", ":5: is not YAML: ", "loops, first in line 3"),
        ("log: {level: info, level: debug}", ":1: is not YAML: ", "level"),
    ])
    func aKeyThatComesTwiceIsReportedWithItsSecondLine(yaml: String, line: String, key: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try self.load(yaml) }
        let text = "\(try #require(error))"
        #expect(text.hasSuffix("sealpost.yaml\(line)a mapping has a key twice: \(key)"), "\(text)")
    }

    @Test(arguments: [
        ("[::]:8080", ["[::]:8080"]), ("[::1]:1, 127.0.0.1:2", ["[::1]:1", "127.0.0.1:2"]),
        ("8080", ["127.0.0.1:8080"]),
        ("localhost:8080", ["127.0.0.1:8080"]), (#"["[::]:8080","unix:/x"]"#, ["[::]:8080", "unix:/x"]),
        ("[127.0.0.1:1, 'unix:/x']", ["127.0.0.1:1", "unix:/x"]), ("null", ["127.0.0.1:8080"]),
    ])
    func aListInTheEnvironmentHasCommasOrBrackets(text: String, addresses: [String]) throws {
        let configuration = try Configuration.load(file: nil, environment: ["SEALPOST_SERVER_LISTEN": text])
        #expect(configuration.listen == addresses)
    }

    @Test func aListOfMappingsIsSetByTheEnvironment() throws {
        let environment = [
            "SEALPOST_SERVER_TLS_CERTIFICATE": "a", "SEALPOST_SERVER_TLS_PRIVATEKEY": "b",
            "SEALPOST_SERVER_TLS_ADDITIONAL": #"[{"certificate":"c","privateKey":"d"}]"#,
        ]
        let tls = try #require(try Configuration.load(file: nil, environment: environment).tls)
        #expect(tls.additional == [.init(certificate: "c", privateKey: "d")])
    }

    @Test(arguments: [
        ("90", 90), ("90s", 90), ("5m", 300), ("12h", 43_200), ("7d", 604_800), ("0d", nil), ("-5m", nil), ("5 m", nil),
        ("5w", nil), ("m", nil), ("1.5h", nil), ("9223372036854775807d", nil), ("92233720368547759m", nil), ("", nil),
    ])
    func aDurationHasSecondsOrAUnit(text: String, seconds: Int?) throws {
        let yaml = "sessions: {expiresIn: '\(text)'}\nserver: {limits: {idleTimeout: 2m}}\naudit: {keep: 30d}"
        guard let seconds else {
            let error = #expect(throws: ConfigurationError.self) { try self.load(yaml) }
            let message =
                "expiresIn: must be a whole number from 60 to 31536000, in seconds or with a unit: 30s, 5m, 12h, 7d"
            #expect("\(try #require(error))".hasSuffix(message))
            return
        }
        let configuration = try self.load(yaml)
        #expect(configuration.server.sessionLifetime == .seconds(seconds))
        #expect(configuration.limits.idleTimeout == .seconds(120))
        #expect(configuration.auditKept == .seconds(2_592_000))
    }

    /// Each error ends with the key and the reason. An error in a file also names the line.
    @Test(arguments: [
        ("servre: {}", ":1: servre: is not known here"),
        ("server:\n  listn: x", ":2: server.listn: is not known here"),
        ("server: {limits: {bodyBytes: lots}}", ":1: server.limits.bodyBytes: must be a whole number from 1024 to"),
        ("server: {limits: {bodyBytes: 1}}", "server.limits.bodyBytes: must be a whole number from 1024 to"),
        ("server: {limits: {bodyBytes: [1]}}", "server.limits.bodyBytes: must be a whole number"),
        ("server: {listen: localhost}", "server.listen: \"localhost\" must be a numeric address and a port"),
        ("server: {listen: []}", "server.listen: needs at least one address, such as 127.0.0.1:8080"),
        ("server: {listen: ''}", "server.listen: \"\" must be a numeric address and a port"),
        ("keys: ''", "keys: must not be empty; leave it out for the default"),
        ("database: ''", "database: must not be empty"), ("log: {file: ''}", "log.file: must not be empty"),
        ("server: {listen: [[1]]}", "server.listen: must be a list of texts"),
        (
            "server: {trustedProxies: [10.0.0.1/8]}",
            "server.trustedProxies: \"10.0.0.1/8\" must be an address, a CIDR block"
        ),
        ("server: {forwardedField: Via}", "server.forwardedField: must be one of X-Forwarded-For, Forwarded"),
        (
            "server: {trustedProxies: [unix], identityHeader: 'X Remote'}",
            "server.identityHeader: \"X Remote\" is not a valid field name"
        ),
        (
            "server: {identityHeader: X-Remote-User}",
            "server.identityHeader: it needs trustedProxies, which is empty"
        ),
        ("server: {proxyProtocol: true}", "server.proxyProtocol: it needs trustedProxies, which is empty"),
        ("server: {names: ['push.example:8080']}", "server.names: \"push.example:8080\" must be a host without scheme"),
        ("server: {names: ['https://push.example']}", "server.names: \"https://push.example\" must be a host without"),
        ("server: {names: ['*.example']}", "server.names: \"*.example\" must be a host without scheme"),
        ("server: {names: ['']}", "server.names: \"\" must be a host without scheme"),
        (
            "server: {allowedOrigins: ['https://app.example/']}",
            "server.allowedOrigins: \"https://app.example/\" must be a scheme, a host and an optional port"
        ),
        ("server: {allowedOrigins: ['*']}", "server.allowedOrigins: \"*\" must be a scheme, a host"),
        ("server: {allowedOrigins: [null]}", "server.allowedOrigins: \"null\" must be a scheme, a host"),
        ("passwords: {memory: 19455}", "passwords.memory: must be at least 19456 with 2 passes"),
        ("passwords: {memory: 1048577}", "passwords.memory: must be a whole number from 8 to 1048576"),
        ("passwords: {passes: 1}", "passwords.memory: must be at least 19456 with 2 passes"),
        ("passwords: {passes: 65}", "passwords.passes: must be a whole number from 1 to 64"),
        ("passwords: {rounds: 2}", ":1: passwords.rounds: is not known here"),
        ("server: 5", "server: must be a mapping"),
        ("quotas: {device: 5}", "quotas.device: must be a mapping"),
        ("quotas: {device: {requests: 0}}", "quotas.device.requests: must be a whole number from 1 to 100000000"),
        ("quotas: {devise: {requests: 1}}", "quotas.devise: is not known here"),
        ("log: {level: loud}", "log.level: must be one of trace, debug"),
        ("senders: {x: {}}", "senders.x.type: is missing"),
        ("senders: {x: {type: pigeon}}", "senders.x.type: must be one of apns, fcm, wns, webpush, webhook, stream"),
        ("senders: {x: {type: apns, keyID: a}}", "senders.x.keyFile: is missing"),
        (
            "senders: {x: {type: apns, keyFile: k.p8, teamID: t, topic: o}}",
            "senders.x.keyID: is missing, and the name of the keyFile, AuthKey_….p8, does not have it"
        ),
        ("senders: {apns: {keyFile: k, keyID: i, topic: o}}", "senders.apns.teamID: is missing"),
        ("senders: {apns: {type: pigeon}}", "senders.apns.type: must be one of apns, fcm"),
        (
            "senders: {x: {type: fcm, serviceAccount: a, apple: voip}}",
            "senders.x.apple: must be one of alert, background"
        ),
        ("senders: {x: {type: fcm, serviceAccount: a, apple: loud}}", "senders.x.apple: must be one of alert, backg"),
        ("senders: {x: {type: fcm, serviceAccount: a, alert: {body: b}}}", "senders.x.alert.body: is not known here"),
        (
            "senders: {x: {type: fcm, serviceAccount: a, alert: {bodyKey: \"\\n\"}}}",
            "senders.x.alert.bodyKey: must be 1 to 100 bytes"
        ),
        ("senders: {x: {type: fcm}}", "senders.x.serviceAccount: is missing"),
        ("senders: {x: {type: fcm, credentials: key}}", "senders.x.credentials: must be one of file, metadata"),
        (
            "senders: {x: {type: fcm, credentials: metadata, serviceAccount: a}}",
            "senders.x.serviceAccount: must be left out with credentials: metadata"
        ),
        ("senders: {x: {type: wns, clientID: a, clientSecretFile: b, envelope: tile}}", "must be one of raw, toast"),
        ("senders: {x: {type: fcm, serviceAccount: a, android: loud}}", "x.android: must be one of data, notification"),
        (
            "senders: {x: {type: fcm, serviceAccount: a, androidAlert: {body: b}}}",
            "x.androidAlert.body: is not known here"
        ),
        ("alerts: {titleKeys: [A]}", "alerts.titleKeys: is not known here"),
        ("alerts: {allowed: {titles: [A]}}", "alerts.allowed.titles: is not known here"),
        ("alerts: {allowed: {titleKeys: ['']}}", "alerts.allowed.titleKeys: must be 1 to 100 bytes of text"),
        ("alerts: {allowed: {bodyKeys: [[a]]}}", "alerts.allowed.bodyKeys: must be a list of texts"),
        (
            "alerts: {allowed: {interruptionLevels: [passive, loud]}}",
            "alerts.allowed.interruptionLevels: must be one of passive, active, time-sensitive, critical"
        ),
        ("alerts: {criticalPublishers: ['a b']}", "alerts.criticalPublishers: \"a b\" is not a user's name"),
        (
            "senders: {x: {type: fcm, serviceAccount: a, apple: alert, alert: {interruptionLevel: critical}}}",
            "x.alert.interruptionLevel: must be one of passive, active, time-sensitive"
        ),
        (
            "senders: {x: {type: fcm, serviceAccount: a, apple: alert, alert: {criticalVolume: 101}}}",
            "x.alert.criticalVolume: must be a whole number from 0 to 100"
        ),
        ("alerts: {allowed: {badge: 10000}}", "alerts.allowed.badge: must be a whole number from 0 to 9999"),
        ("alerts: {templates: {a b: {bodyKey: B}}}", "alerts.templates.a b: a template's name must be 1 to 120"),
        ("alerts: {templates: {a: {}}}", "alerts.templates.a.bodyKey: the template is empty"),
        ("alerts: {templates: {a: {badge: 3}}}", "alerts.templates.a.badge: is not known here"),
        ("alerts: {templates: {a: {bodyKey: [B, C]}}}", "alerts.templates.a.bodyKey: must be a text"),
        ("alerts: {templates: {a: {interruptionLevel: loud}}}", "alerts.templates.a.interruptionLevel: must be one of"),
        ("proxy: {url: proxy.example}", "proxy.url: must be http:// or https://, a host and a port"),
        ("proxy: {deviceHost: true}", "proxy.deviceHost: is not known here"),
        ("events: {keep: 60}", "events.keep: must be a whole number from 3600"),
        ("events: {kinds: [read]}", "events.kinds: \"read\" is not a kind of event; known are accepted, failed"),
        ("events: {kinds: []}", "events.kinds: needs one or more of accepted"),
        ("events: {webhook: {url: a}}", "events.webhook.secretFile: is missing"),
        ("events: {webhook: {rate: 1}}", "events.webhook.rate: is not known here"),
        ("senders: {x: {type: webpush}}", "senders.x.subject: is missing"),
        ("senders: {x: {type: webhook, url: a}}", "senders.x.secretFile: is missing"),
        (
            "senders: {x: {type: webpush, subject: a, allowedHosts: ['*'], allowPrivateAddresses: true}}",
            "senders.x.allowPrivateAddresses: must be false with \"*\" in allowedHosts"
        ),
        (
            "senders: {x: {type: webpush, subject: a, placeholder: {title: Clinic}}}",
            "senders.x.placeholder.page: is missing"
        ),
        (
            "senders: {x: {type: webpush, subject: a, placeholder: {page: 'http://a.example'}}}",
            "senders.x.placeholder.page: must be an https URL, and not http"
        ),
        ("senders: {x: {type: webpush, subject: a, placeholder: {text: a}}}", "placeholder.text: is not known here"),
        ("senders: {x: {type: webpush, subject: a, connections: 0}}", "senders.x.connections: must be a whole number"),
        ("senders: {X: {type: apns}}", "a sender's name must consist of"),
        ("senders: {x: {type: fcm, serviceAccount: a, topic: b}}", "senders.x.topic: is not known here"),
        ("[1]", "must be a mapping"), ("a: [", "is not YAML"),
        // These rows contain missing keys, and values that the server checks only after it has
        // read all values.
        ("keys: k\ntracing:\n  endpoint: a", "sealpost.yaml:3: tracing.endpoint: must be http://"),
        ("notifications: {endToEndApps: [bnak]}", "notifications: endToEndApps: the app bnak is not in apps"),
        ("keys: k\ndatabase: 'postgres://h'", "sealpost.yaml:2: database: "),
        ("senders:\n  apns:\n    keyFile: k", "sealpost.yaml:3: senders.apns.keyID: "),
    ])
    func anErrorNamesTheKeyAndItsPlace(yaml: String, message: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try self.load(yaml) }
        #expect("\(try #require(error))".contains(message), "\(String(describing: error))")
    }

    /// Syntax errors in a line that contains a password, and the part of the message that
    /// describes each error.
    private static let broken = [
        ("a tab", "\tdatabase: postgres://u:hunter2@h/d", ": is not YAML: "),
        ("an open quote", "database: \"postgres://u:hunter2@h/d", ": is not YAML: found unexpected end of stream"),
        (
            "an open single quote", "database: 'postgres://u:hunter2@h/d",
            ": is not YAML: found unexpected end of stream"
        ),
        ("a wrong indent", "  database: postgres://u:hunter2@h/d", ": is not YAML: "),
        ("an indent that continues a value", "keyring: k\n - postgres://u:hunter2@h/d", ":2:10: the value continues"),
        ("a line without a blank", "keyring: k\n  database:postgres://u:hunter2@h/d", ":2:10: the value continues"),
        ("an open bracket", "database: [postgres://u:hunter2@h/d", ": is not YAML: "),
        ("an open brace", "database: {a: postgres://u:hunter2@h/d", ": is not YAML: "),
        ("no blank", "database:postgres://u:hunter2@h/d", ": is not YAML: could not find expected ':'"),
        ("braces", "{database:postgres://u:hunter2@h/d}", ": is not YAML: "),
        (
            "no blank, as a key", "database:postgres://u:hunter2@h/d:",
            ":2: (a key that is not shown): is not known here"
        ),
        ("no colon, as a key", "database=postgres://u:hunter2@h/d: x", ":2: (a key that is not shown): is not known"),
        ("a key of a section", "cache: {maxAge:postgres://u:hunter2@h/d}", ":2: cache.(a key that is not shown): is"),
        ("a key twice", "k:hunter2@h: 1\nk:hunter2@h: 2", ": a mapping has a key twice: (a key that is not shown)"),
        ("an alias", "database: *hunter2", ":2:11: is not YAML: found undefined alias"),
        ("a reserved mark", "database: @hunter2", ":2:11: is not YAML: found character that cannot start any token"),
        ("an escape", "database: \"postgres://u:hunter2\\q@h/d\"", ": is not YAML: found unknown escape character"),
        ("a directive", "%hunter2 postgres://u:hunter2@h/d", ": is not YAML: "),
        ("a tag", "database: !hunter2!x y", ": is not YAML: "), ("a block", "database: |hunter2", ": is not YAML: "),
        ("a control character", "database: postgres://u:hunter2@h/d\u{1}", ": is not YAML: control characters are not"),
        ("a second document", "...\n--- postgres://u:hunter2@h/d", ": is not YAML: "),
        ("a mapping's value", "server: postgres://u:hunter2@h/d", ":2: server: must be a mapping"),
        ("an app", "apps: {\"u:hunter2@h\": {}}", "apps.(a key that is not shown): an app's name must be"),
    ]

    @Test(arguments: Self.broken) func errorsAboutABrokenFileNeverQuoteIt(
        way: String,
        line: String,
        message: String
    ) throws {
        let error = #expect(throws: ConfigurationError.self) { try self.load("log: {}\n\(line)\n") }
        let text = "\(try #require(error))"
        #expect(text.contains(message) && text.contains("sealpost.yaml"), "\(way): \(text)")
        #expect(!text.contains("hunter2") && !text.contains("\n"), "\(way): \(text)")
    }

    /// If the server took such an address for the path of a file, it would print the password, and
    /// create a database with that name.
    @Test(arguments: [
        "postgres://u:hunter2@h/d", "POSTGRES://u:hunter2@h/d", "postgres:/u:hunter2@h/d", " postgres://u:hunter2@h/d",
        "u:hunter2@h/d", "mysql://h/hunter2", "host=h user=u password=hunter2", "postgres://u@h/d?password=hunter2",
    ])
    func aPasswordInTheAddressOfTheDatabaseIsRefusedAndNotShown(address: String) async throws {
        let error = #expect(throws: ConfigurationError.self) { try self.load("database: '\(address)'") }
        let text = "\(try #require(error))"
        #expect(text.contains(": database: ") && !text.contains("hunter2"), "\(text)")
        let ended = try await Daemon.run(
            ["doctor"],
            in: self.folder,
            environment: ["SEALPOST_DATABASE": address]
        )
        let shown = ended.output + ended.errors
        #expect(ended.code == 1 && shown.contains("SEALPOST_DATABASE: ") && !shown.contains("hunter2"), "\(shown)")
    }

    @Test func secretsInAMalformedFileOrVariableAreNotQuoted() throws {
        for (yaml, environment) in [
            ("database:postgres://u:hunter2@h/d", [:]), ("", ["SEALPOST_SERVER_LISTEN": "[postgres://u:hunter2@h/d"]),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try self.load(yaml, environment: environment) }
            #expect("\(try #require(error))".contains("hunter2") == false, "\(String(describing: error))")
        }
    }

    /// Tests commands that read the configuration. A reload of the configuration has its own test.
    @Test(arguments: ["serve", "doctor", "backup copy"])
    func aCommandDoesNotPrintALineOfABrokenFile(command: String) async throws {
        try "\tdatabase: postgres://u:hunter2@h/d".write(
            toFile: self.folder.file("broken.yaml"),
            atomically: true,
            encoding: .utf8
        )
        let words = command.split(separator: " ").map(String.init) + ["--config", "broken.yaml"]
        let ended = try await Daemon.run(words, in: self.folder)
        let shown = ended.output + ended.errors
        #expect(ended.code != 0 && shown.contains("broken.yaml:1:1: is not YAML: "), "\(shown)")
        #expect(!shown.contains("hunter2"), "\(shown)")
    }

    @Test func alertsAllowOnlyTheListedValues() throws {
        #expect(try self.load("").server.alerts == AlertPolicy())
        let yaml = """
            alerts:
              allowed: {titleKeys: [A, B], interruptionLevels: passive, badge: 5}
              templates: {visit: {bodyKey: VISIT, channel: visits, toastText: A visit}}
              criticalPublishers: [ward]
            """
        let policy = try self.load(yaml).server.alerts
        #expect(policy.allows("B", as: .titleKey) && policy.allows("passive", as: .interruptionLevel))
        #expect(!policy.allows("C", as: .titleKey) && !policy.allows("VISIT", as: .bodyKey))
        #expect(policy.criticalPublishers == [try #require(Username("ward"))])
        #expect(policy.allows(badge: 0) && policy.allows(badge: 5) && !policy.allows(badge: 6))
        var template = PushAlert()
        template.texts = [.bodyKey: "VISIT", .channel: "visits"]
        template.toastText = "A visit"
        #expect(policy.templates == ["visit": template])
        let environment = ["SEALPOST_ALERTS_ALLOWED_BADGE": "7", "SEALPOST_ALERTS_ALLOWED_TITLEKEYS": "[C]"]
        let overridden = try self.load(yaml, environment: environment).server.alerts
        #expect(overridden.allows(badge: 7) && overridden.allows("C", as: .titleKey))
        #expect(!overridden.allows("A", as: .titleKey))
    }

    @Test func androidNotificationsAreConfiguredPerSender() throws {
        let yaml =
            "senders: {x: {type: fcm, serviceAccount: a, android: notification, androidAlert: {bodyKey: B, sound: null}}}"
        var placeholder = AndroidPlaceholder()
        placeholder.bodyKey = "B"
        placeholder.sound = nil
        var fcm = SenderConfiguration.FCM(credentials: .file("a"))
        fcm.android = .notification(placeholder)
        #expect(try self.load(yaml).senders[Platform("x")] == .fcm(fcm))
    }

    @Test func credentialsOfTheMachineNeedNoFile() throws {
        var fcm = SenderConfiguration.FCM(credentials: .metadata)
        fcm.projectID = "p"
        fcm.allowedHosts = ["sts.example"]
        let yaml = "senders: {x: {type: fcm, credentials: metadata, projectID: p, allowedHosts: [sts.example]}}"
        #expect(try self.load(yaml).senders[Platform("x")] == .fcm(fcm))
    }

    @Test func thePlaceholderOfAPageHasItsTexts() throws {
        let placeholder = "{page: 'https://a.example/#{id}', title: A}"
        let yaml = "senders: {web: {type: webpush, subject: a, placeholder: \(placeholder)}}"
        guard case .webPush(let sender)? = try self.load(yaml).senders[Platform("web")] else {
            Issue.record("no sender")
            return
        }
        let expected = try WebPushPlaceholder(page: "https://a.example/#{id}", title: "A")
        #expect(sender.placeholder == expected)
    }

    @Test func oneFolderHasAllFilesThatTheServerMakes() throws {
        let yaml = "senders: {webpush: {type: webpush, subject: a}}"
        for keys in ["/k", "/k/"] {
            let configuration = try self.load(yaml, environment: ["SEALPOST_KEYS": keys])
            let files = [
                configuration.keyring, configuration.signingKeys, configuration.dayKeys, configuration.timeline,
            ]
            #expect(files == ["/k/keyring", "/k/signing-keys", "/k/day-keys", "/k/timeline"])
            guard case .webPush(let sender)? = configuration.senders[Platform("webpush")] else {
                Issue.record("\(configuration.senders)")
                return
            }
            #expect(sender.keyFile == "/k/vapid.pem")
        }
    }

    @Test func eventsAreStoredOnlyIfKeptOrSentToAWebhook() throws {
        let off = try self.load("events: {kinds: [failed], webhook: {url: null}}").events
        #expect(!off.isOn)
        #expect(off.stored == [])
        let kept = try self.load("events: {keep: 3600, kinds: failed}").events
        #expect(kept.stored == [.failed])
        #expect(kept.kept == .seconds(3600))
        let taken = try self.load("events: {webhook: {url: a, secretFile: b, direct: true}}").events
        #expect(taken.stored == Set(PushEvent.Kind.allCases))
        #expect(taken.kept == .seconds(604_800))
        #expect(taken.webhook == .init(url: "a", secretFile: "b", isDirect: true))
    }

    @Test(arguments: [
        ("memory: 47104, passes: 1", 47_104, 1), ("memory: 7168, passes: 5", 7168, 5), ("passes: 3", 19_456, 3),
    ])
    func passwordHashParametersAreConfigurable(yaml: String, memory: Int, passes: Int) throws {
        let configuration = try self.load("passwords: {\(yaml)}")
        #expect(configuration.passwords == PasswordParameters(memory: memory, passes: passes, lanes: 1))
    }

    @Test(arguments: [
        ("", 1200, 60), ("quotas: {device: {requests: 5}}", 5, 60), ("quotas: {device: {window: 1}}", 1200, 1),
        ("quotas: {admin: null}", 1200, 60), ("quotas: {device: {requests: null, window: null}}", 1200, 60),
    ])
    func aPartialQuotaKeepsItsDefaults(yaml: String, requests: Int, window: Int) throws {
        #expect(try self.load(yaml).quotas[.device] == Quota(requests: requests, window: window, changes: 10_000))
    }

    @Test(arguments: [
        ("", 10_000), ("quotas: {device: {changes: 8}}", 8), ("quotas: {device: {changes: null}}", nil),
        ("quotas: {device: {requests: 5, changes: ~}}", nil),
    ])
    func dailyChangesAreLimitedUnlessNull(yaml: String, changes: Int?) throws {
        #expect(try self.load(yaml).quotas[.device]?.changes == changes)
        #expect(try self.load(yaml).quotas[.publisher]?.changes == nil)
        let set = ["SEALPOST_QUOTAS_DEVICE_CHANGES": "9"]
        #expect(try self.load(yaml, environment: set).quotas[.device]?.changes == 9)
        let unset = ["SEALPOST_QUOTAS_DEVICE_CHANGES": "null"]
        #expect(try self.load(yaml, environment: unset).quotas[.device]?.changes == nil)
        #expect(throws: ConfigurationError.self) { try self.load("quotas: {device: {changes: 7}}") }
    }

    @Test func serverNamesAreNormalized() throws {
        let names = try self.load("server: {names: [Push.Example, '[2001:db8::1]', 192.0.2.1]}").server.names
        #expect(names == ["push.example", "[2001:db8::1]", "192.0.2.1"])
        let environment = ["SEALPOST_SERVER_NAMES": "[push.example, localhost]"]
        #expect(try self.load("", environment: environment).server.names == ["push.example", "localhost"])
    }

    @Test func allowedOriginsAreNormalized() throws {
        let fromFile = try self.load("server: {allowedOrigins: [HTTPS://App.example:443, 'capacitor://localhost']}")
        #expect(
            Set(fromFile.server.allowedOrigins.map(\.description)) == ["https://app.example", "capacitor://localhost"]
        )
        let environment = ["SEALPOST_SERVER_ALLOWEDORIGINS": "http://localhost:3000"]
        let origins = try self.load("", environment: environment).server.allowedOrigins
        #expect(origins.map(\.description) == ["http://localhost:3000"])
    }

    @Test func storageIsLimitedByRole() throws {
        let configuration = try self.load(
            "storage: {device: {devices: 3}, admin: null}",
            environment: ["SEALPOST_STORAGE_PUBLISHER_BYTES": "7"]
        )
        #expect(configuration.server.storage[.device] == StorageBounds(devices: 3, notifications: 1000, bytes: 4 << 20))
        #expect(configuration.server.storage[.publisher]?.bytes == 7)
        #expect(configuration.server.storage[.admin] == nil)
        #expect(throws: ConfigurationError.self) { try self.load("storage: {device: {notifications: 0}}") }
    }

    @Test func nullDisablesAQuota() throws {
        let configuration = try self.load(
            "quotas: {device: null}",
            environment: ["SEALPOST_QUOTAS_PUBLISHER": "null", "SEALPOST_QUOTAS_ADMIN_REQUESTS": "7"]
        )
        #expect(configuration.quotas[.device] == nil && configuration.quotas[.publisher] == nil)
        #expect(configuration.quotas[.admin] == Quota(requests: 7, window: 60))
    }

    @Test(arguments: [
        ("server: {listn: x}", "server.listn: is not known here; did you mean listen?"),
        ("Servr: {}", "Servr: is not known here; did you mean server?"),
        ("listen: 127.0.0.1:1", "listen: is not known here; did you mean server.listen?"),
        ("server: {headerTimeout: 3}", "did you mean server.limits.headerTimeout?"),
        // Two sections have the key `expiresIn`, so the error suggests neither.
        ("expiresIn: 9", "expiresIn: is not known here; known are admin, alerts,"),
        ("passwords: {rounds: 2}", "passwords.rounds: is not known here; known are memory, passes"),
        ("senders: {fcm: {serviceAccount: a, badge: 1}}", "senders.fcm.badge: is not known here; known are alert,"),
    ])
    func anUnknownKeyIsReportedWithASuggestion(yaml: String, hint: String) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("sealpost.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        let error = #expect(throws: ConfigurationError.self) { try Configuration.load(file: file, environment: [:]) }
        #expect("\(try #require(error))".contains(hint), "\(String(describing: error))")
    }

    @Test(arguments: [
        ("SERVER_LISTN", "did you mean SEALPOST_SERVER_LISTEN?"), ("LISTEN", "did you mean SEALPOST_SERVER_LISTEN?"),
        ("SERVER_LIMIT_MAXCONNECTIONSPERADDRES", "did you mean SEALPOST_SERVER_LIMITS_MAXCONNECTIONSPERADDRESS?"),
        ("NOTIFICATIONS", "set the keys of this section, such as SEALPOST_NOTIFICATIONS_EMPTYPAYLOAD"),
        ("EXPIRESIN", "unset it or correct its name"), ("TELEMETRY", "unset it or correct its name"),
    ])
    func anUnknownVariableIsReportedWithASuggestion(name: String, hint: String) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, environment: ["SEALPOST_\(name)": "x"])
        }
        #expect("\(try #require(error))" == "SEALPOST_\(name): unknown environment variable; \(hint)")
    }

    @Test func anUnknownVariableIsNamed() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: nil, environment: ["SEALPOST_SERVER_LISTN": "x"])
        }
        #expect("\(try #require(error))".hasPrefix("SEALPOST_SERVER_LISTN: "))
    }

    /// Editors on other systems write a byte-order mark before the text.
    @Test func aByteOrderMarkIsIgnoredAndAnotherEncodingIsNamed() throws {
        let mark = "\u{FEFF}"
        #expect(try self.load("\(mark)log: {level: debug}").logLevel == "debug")
        try self.folder.writeSecret("\(mark)whsec_x\n", to: "secret")
        #expect(try SecretFile.text(of: self.folder.file("secret"), key: "k") == "whsec_x\n")
        let keyring = self.folder.file("keyring")
        let made = try KeyringFile(keyring).loadOrCreate()
        try self.folder.writeSecret(mark + String(contentsOfFile: keyring, encoding: .utf8), to: "keyring")
        #expect(try KeyringFile(keyring).load() == made)
        let file = self.folder.file("sealpost.yaml")
        try "log: {level: debug}".write(toFile: file, atomically: true, encoding: .utf16)
        let error = #expect(throws: ConfigurationError.self) { try Configuration.load(file: file, environment: [:]) }
        #expect("\(try #require(error))" == "\(file): is not UTF-8; save it in that encoding")
    }

    @Test func aMissingFileIsNamed() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file: "/nowhere/x.yaml", environment: [:])
        }
        #expect("\(try #require(error))".hasPrefix("/nowhere/x.yaml: cannot be read"))
    }

    @Test func theExampleHasEveryKeyWithItsDefault() throws {
        let example = try Configuration.load(file: Repository.file("config/sealpost.yaml").path, environment: [:])
        var defaults = Configuration()
        defaults.senders = example.senders
        #expect(example.quotas == defaults.quotas)
        #expect(example.server.storage == defaults.server.storage)
        // The comparison leaves out `values` (the texts in the file), and also the dictionaries,
        // whose order in the text may differ.
        (defaults.quotas, defaults.values) = (example.quotas, example.values)
        defaults.server.storage = example.server.storage
        #expect("\(example)" == "\(defaults)")
        let text = try Repository.text(of: "config/sealpost.yaml")
        let keys = try Self.keysAsked().union(AlertMember.allCases.map(\.listKey))
        for key in keys { #expect(text.contains("\(key):"), "\(key) is not in the example") }
    }

    /// Returns the keys that the code reads, extracted from its source.
    private static func keysAsked() throws -> Set<String> {
        let files = ["Configuration+loading", "Configuration+server", "Configuration+events"]
        let code = try files.map { try Repository.text(of: "Sources/PushApplication/Configuration/\($0).swift") }
            .joined()
        let calls = code.matches(
            of: /\.(?:sections?|(?:required|nonEmpty)?[sS]trings?|integer|seconds|wholeSeconds|bool)\("(\w+)"/
        )
        let keys = Set(calls.map { String($0.output.1) })
        #expect(keys.count > 20)
        return keys
    }
}

@Suite(.timeLimit(.minutes(5))) struct KeyringFileTests {
    private let folder: TemporaryFolder
    private var keyring: String { self.folder.file("keyring") }
    private var database: String { self.folder.file("a.db") }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func aNewFileIsPrivateToItsOwnerAndLoadsAgain() throws {
        let made = try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        let mode = try FileManager.default.attributesOfItem(atPath: self.keyring)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let place = SealedPlace.payload(try #require(NotificationID(rawValue: 1)), sender: 1)
        let sealed = try Vault(made).seal(Data("x".utf8), in: place)
        let again = try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        #expect(try Vault(again).open(sealed, in: place) == Data("x".utf8))
    }

    @Test func aMissingKeyringIsRefusedIfADatabaseExists() throws {
        try Data().write(to: URL(fileURLWithPath: self.database))
        let error = #expect(throws: ConfigurationError.self) {
            try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        }
        #expect("\(try #require(error))".contains("restore it from a backup to decrypt"))
        #expect(!FileManager.default.fileExists(atPath: self.keyring))
    }

    @Test func aFileReadableByOthersIsRefused() throws {
        _ = try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.keyring)
        let error = #expect(throws: ConfigurationError.self) {
            try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        }
        #expect("\(try #require(error))".contains("is readable by other users"))
    }

    /// The group of the file is one of the process's groups, as it is for every new file.
    @Test(arguments: [0o440, 0o640, 0o660, 0o400]) func aFileOfTheServersGroupIsRead(mode: Int) throws {
        let made = try KeyringFile(self.keyring).loadOrCreate()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.keyring)
        #expect(try KeyringFile(self.keyring).load() == made)
    }

    @Test(arguments: [
        (0o600, 7, true), (0o440, 7, true), (0o660, 8, true), (0o440, 9, false), (0o660, 9, false), (0o600, 9, true),
        (0o444, 7, false), (0o641, 7, false), (0o602, 7, false),
    ])
    func onlyTheOwnersAndTheServersGroupMayRead(mode: mode_t, group: gid_t, isPrivate: Bool) {
        #expect(PrivateFile.isPrivate(mode: mode, group: group, ownGroups: [7, 8]) == isPrivate)
    }

    @Test func aConcurrentChangeIsRefusedAndLeavesNoFilesBehind() throws {
        let file = KeyringFile(self.keyring)
        let before = try file.loadOrCreate()
        let error = #expect(throws: ConfigurationError.self) {
            try PrivateFile.change(self.keyring, what: "the keyring") { text in (text, try file.rotate()) }
        }
        #expect("\(try #require(error))".contains("is being changed by another command"))
        #expect(try file.load() == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["keyring"])
        #expect(try file.rotate() == 2)
        #expect(try file.load().numbers == [2, 1])
    }

    @Test func aDamagedFileIsRefusedAndItsLineNamed() throws {
        _ = FileManager.default.createFile(
            atPath: self.keyring,
            contents: Data("1 AAAA\n".utf8),
            attributes: [.posixPermissions: 0o600]
        )
        let error = #expect(throws: ConfigurationError.self) {
            try KeyringFile(self.keyring).loadOrCreate(beside: SQLiteDatabase(path: self.database))
        }
        #expect("\(try #require(error))".contains("line 1 must be a number and 32 bytes"))
    }
}
