// swift-tools-version: 6.3
import PackageDescription

// As an app's target is set up: everything on the main actor unless it says otherwise.
let app: [SwiftSetting] = [.defaultIsolation(MainActor.self), .enableUpcomingFeature("MemberImportVisibility")]
let handstamp: [Target.Dependency] = [.product(name: "Handstamp", package: "handstamp")]

let package = Package(
  name: "Quickstart",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "handstamp", path: "../..")],
  targets: [
    .executableTarget(name: "Quickstart", dependencies: handstamp, swiftSettings: app)
  ]
)
