// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "Quickstart",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "handstamp", path: "../..")],
  targets: [
    .executableTarget(
      name: "Quickstart", dependencies: [.product(name: "Handstamp", package: "handstamp")],
      // As an app's target is set up: everything on the main actor unless it says otherwise.
      swiftSettings: [.defaultIsolation(MainActor.self), .enableUpcomingFeature("MemberImportVisibility")])
  ]
)
