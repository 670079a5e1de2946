// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func handstamp(_ products: String...) -> [Target.Dependency] {
  products.map { .product(name: $0, package: "handstamp") }
}
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

let package = Package(
  name: "ForumReader",
  platforms: [.macOS(.v14)],
  dependencies: [
    .package(name: "handstamp", path: "../..", traits: ["Data"]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CHTML", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
    .target(
      name: "ForumReader",
      dependencies: ["CHTML", grdb] + handstamp("Handstamp", "HandstampCookies", "HandstampData"),
      swiftSettings: strict),
    .executableTarget(
      name: "forum",
      dependencies: ["ForumReader"] + handstamp("Handstamp", "HandstampCookies", "HandstampData"),
      swiftSettings: strict),
    .executableTarget(
      name: "forum-bench",
      dependencies: ["ForumReader"] + handstamp("Handstamp", "HandstampCookies", "HandstampData"),
      swiftSettings: strict),
    .testTarget(
      name: "ForumReaderTests",
      dependencies: ["ForumReader", grdb]
        + handstamp(
          "Handstamp", "HandstampCore", "HandstampCookies", "HandstampData", "HandstampTesting"),
      swiftSettings: strict),
  ]
)
