// swift-tools-version: 6.3
import PackageDescription

// As a new app in Xcode is set up: Swift 6, the main actor by default, Approachable Concurrency.
let app: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self), .treatAllWarnings(as: .error),
  .enableUpcomingFeature("InferIsolatedConformances"), .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func program(_ name: String, _ more: String...) -> Target {
  .executableTarget(
    name: name,
    dependencies: (["Handstamp", "HandstampUI"] + more).map { .product(name: $0, package: "handstamp") },
    swiftSettings: app)
}

let package = Package(
  name: "Documents",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "handstamp", path: "../..")],
  targets: [
    program("Dashboard"), program("SeveralAccounts"), program("Board", "HandstampCookies"), program("Audited"),
    program("Guests"),
  ]
)
