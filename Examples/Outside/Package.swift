// swift-tools-version: 6.3
import PackageDescription

// A third-party package that depends on Handstamp by URL and version, and forwards its own traits. `scripts/dev outside` uses
// a clone.
let url = Context.environment["HANDSTAMP_URL"] ?? "https://github.com/example/handstamp"
let traits = [
  "AsyncHTTPClient", "Data", "LoopbackRedirect", "PostgreSQL", "Server", "Verifier", "WebSocket",
]

func handstamp(_ product: String) -> Target.Dependency { .product(name: product, package: "handstamp") }
func handstamp(_ product: String, with trait: String) -> Target.Dependency {
  .product(name: product, package: "handstamp", condition: .when(traits: [trait]))
}

let package = Package(
  name: "Outside",
  platforms: [.macOS(.v14)],
  traits: Set(traits.map { .trait(name: $0) } + [.default(enabledTraits: [])]),
  dependencies: [
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: url, from: "0.1.0", traits: Set(traits.map { .trait(name: $0, condition: .when(traits: [$0])) })),
  ],
  targets: [
    .executableTarget(name: "PlainClient", dependencies: [handstamp("Handstamp")]),
    .executableTarget(
      name: "EmbeddedServer",
      dependencies: [
        handstamp("HandstampCore"), handstamp("HandstampRegistry"), handstamp("HandstampServer", with: "Server"),
        handstamp("HandstampSQLite", with: "Server"),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Server"])),
      ]),
    .executableTarget(
      name: "CommandLineApp",
      dependencies: [
        handstamp("Handstamp"), handstamp("HandstampOAuth"), handstamp("HandstampTransports", with: "AsyncHTTPClient"),
      ]),
    .executableTarget(
      name: "Transports",
      dependencies: [
        handstamp("Handstamp"), handstamp("HandstampOAuth"), handstamp("HandstampTransports", with: "AsyncHTTPClient"),
        handstamp("HandstampData", with: "Data"),
      ]),
  ]
)
