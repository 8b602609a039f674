import Foundation
import PushServer
import PushTesting
import Testing
import Yams

/// The metrics in `config/alerts.yml` and `config/grafana.json` must match the code. `scripts/e2e
/// run prometheus` runs the files with promtool and a real Prometheus.
@Suite(.timeLimit(.minutes(5))) struct MonitoringTests {
    /// An alert of `config/alerts.yml`.
    struct Alert {
        let name: String
        let severity: String?
        /// The annotations `summary`, `description` and `runbook`.
        let annotations: [String: String]
    }

    private let alerts: [Alert]

    init() throws {
        let file = try #require(try Yams.compose(yaml: Repository.text(of: "config/alerts.yml")))
        let rules = try #require(file["groups"]?.sequence).flatMap { $0["rules"]?.sequence.map(Array.init) ?? [] }
        self.alerts = try rules.map { rule in
            var annotations: [String: String] = [:]
            for (key, value) in try #require(rule["annotations"]?.mapping) {
                annotations[key.string ?? ""] = value.string
            }
            return Alert(
                name: try #require(rule["alert"]?.string),
                severity: rule["labels"]?["severity"]?.string,
                annotations: annotations
            )
        }
        try #require(self.alerts.count > 20)
    }

    /// Checks the metrics in each page and in each file for Prometheus, Grafana and the server.
    /// Files for proxies contain other names, so they are left out.
    @Test func eachNamedMetricExists() throws {
        let names = Set(MetricName.allCases.map(\.rawValue))
        let files = try ["yml", "yaml", "json"].flatMap { try Repository.files(under: "config", ending: ".\($0)") }
        let pages = try GuideTests.allPages() + ["CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        var counts: [String: Int] = [:]
        for (page, text) in try files.map({ ($0.name, $0.text) }) + pages.map({ ($0, try Repository.text(of: $0)) }) {
            for match in text.matches(of: /\bsealpost_(?!e2e\b)[a-z0-9_]+\*?/) {
                // The parts of a histogram have the names of the metric with a suffix.
                let name = String(match.output).replacing(/_(bucket|sum|count)$/, with: "")
                let isKnown = names.contains { name.hasSuffix("*") ? $0.hasPrefix(name.dropLast()) : $0 == name }
                #expect(isKnown, "\(page): \(name)")
                counts[page, default: 0] += 1
            }
        }
        for page in ["alerts.yml", "alerts-test.yml", "grafana.json", "docs/operate/monitor.md", "docs/errors.md"] {
            #expect(counts[page] != nil, "\(page)")
        }
    }

    @Test func eachAlertHasASeverityAndARunbook() throws {
        #expect(Set(self.alerts.map(\.name)).count == self.alerts.count)
        var anchors: Set<String> = []
        for page in try GuideTests.allPages() {
            for heading in try Repository.text(of: page).matches(of: /(?m)^#+ (.+)$/) {
                anchors.insert("\(page)#\(Self.anchor(of: heading.output.1))")
            }
        }
        for alert in self.alerts {
            #expect(["critical", "warning"].contains(alert.severity), "\(alert.name)")
            #expect(alert.annotations.keys.sorted() == ["description", "runbook", "summary"], "\(alert.name)")
            #expect(alert.annotations["description"]?.hasSuffix(".") == true, "\(alert.name)")
            let link = try #require(alert.annotations["runbook"])
            #expect(anchors.contains(link), "\(alert.name): \(link)")
        }
    }

    @Test func eachAlertHasAFiringTestAndASilentOne() throws {
        let file = try #require(try Yams.compose(yaml: Repository.text(of: "config/alerts-test.yml")))
        var firing: Set<String> = []
        var silent: Set<String> = []
        for test in try #require(file["tests"]?.sequence) {
            let cases = try #require(test["alert_rule_test"]?.sequence)
            for tried in cases {
                let name = try #require(tried["alertname"]?.string)
                if tried["exp_alerts"]?.sequence?.isEmpty == false { firing.insert(name) }
            }
            // In a test with several cases, one case may check that the alert does not fire yet. A
            // test therefore counts as silent only if it has a single case.
            if cases.count == 1, cases[0]["exp_alerts"]?.sequence?.isEmpty == true {
                silent.insert(cases[0]["alertname"]?.string ?? "")
            }
        }
        #expect(firing == Set(self.alerts.map(\.name)))
        #expect(silent == Set(self.alerts.map(\.name)))
    }

    @Test func theOperatorsPageListsEachAlertWithItsSeverity() throws {
        let page = try Repository.text(of: "docs/operate/monitor.md")
        let rows = page.matches(of: /(?m)^\| `(Sealpost\w+)` \| (critical|warning) \|/).map {
            "\($0.output.1) \($0.output.2)"
        }
        #expect(rows.sorted() == self.alerts.map { "\($0.name) \($0.severity ?? "")" }.sorted())
    }

    @Test func theDashboardShowsEachMetric() throws {
        let expressions = try Dashboard.load().panels.flatMap { $0.targets ?? [] }.map(\.expr).joined(separator: "\n")
        for name in MetricName.allCases {
            #expect(["{", "_bucket{"].contains { expressions.contains(name.rawValue + $0) }, "\(name.rawValue)")
        }
    }

    @Test func eachPanelSaysWhatItShows() throws {
        let panels = try Dashboard.load().panels
        #expect(Set(panels.map(\.id)).count == panels.count)
        var taken: Set<[Int]> = []
        for panel in panels {
            #expect(!panel.title.isEmpty)
            let place = panel.gridPos
            #expect(place.x + place.w <= 24, "\(panel.title)")
            for x in place.x..<place.x + place.w {
                for y in place.y..<place.y + place.h { #expect(taken.insert([x, y]).inserted, "\(panel.title)") }
            }
            if panel.type == "row" { continue }
            #expect(panel.description?.hasSuffix(".") == true, "\(panel.title)")
            #expect(panel.fieldConfig?.defaults.unit != nil, "\(panel.title)")
            #expect(panel.datasource?.uid == "${datasource}", "\(panel.title)")
            #expect(panel.targets?.isEmpty == false, "\(panel.title)")
            for target in panel.targets ?? [] {
                #expect(target.datasource.uid == "${datasource}" && !target.expr.isEmpty, "\(panel.title)")
            }
        }
    }

    /// Returns the anchor of a heading in rendered Markdown.
    private static func anchor(of heading: Substring) -> String {
        heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }.replacing(" ", with: "-")
    }
}

/// The part of a Grafana dashboard that the tests check.
private struct Dashboard: Decodable {
    struct Source: Decodable { let uid: String }
    struct Target: Decodable {
        let expr: String
        let datasource: Source
    }
    struct Place: Decodable { let x, y, w, h: Int }
    struct Fields: Decodable {
        struct Defaults: Decodable { let unit: String? }
        let defaults: Defaults
    }
    struct Panel: Decodable {
        let id: Int
        let type, title: String
        let description: String?
        let gridPos: Place
        let datasource: Source?
        let fieldConfig: Fields?
        let targets: [Target]?
    }

    let panels: [Panel]

    static func load() throws -> Dashboard {
        try JSONDecoder().decode(Dashboard.self, from: Data(Repository.text(of: "config/grafana.json").utf8))
    }
}
