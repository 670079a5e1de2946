// swift-tools-version: 6.3
import PackageDescription

/// What every target of this package is compiled with. Warnings are errors only where this package is the root.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
/// scrypt. Only where passphrases are: on Apple's systems it would bring a second library of cryptography into every app.
let scrypt: Target.Dependency = .product(
  name: "_CryptoExtras", package: "swift-crypto", condition: .when(platforms: [.linux]))
/// SQLite. Only with the trait that asks for it.
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Data"]))

let openCombine: Target.Dependency = .product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux], traits: ["OpenCombine"]))

let package = Package(
  name: "handstamp",
  platforms: [.iOS(.v17), .tvOS(.v17), .macOS(.v14), .watchOS(.v10)],
  products: [
    .library(name: "Handstamp", targets: ["Handstamp"]),
    .library(name: "HandstampCore", targets: ["HandstampCore"]),
    .library(name: "HandstampOAuth", targets: ["HandstampOAuth"]),
    .library(name: "HandstampRegistry", targets: ["HandstampRegistry"]),
    .library(name: "HandstampVaults", targets: ["HandstampVaults"]),
    .library(name: "HandstampCookies", targets: ["HandstampCookies"]),
    .library(name: "HandstampData", targets: ["HandstampData"]),
    .library(name: "HandstampSecretService", targets: ["HandstampSecretService"]),
    .library(name: "HandstampUI", targets: ["HandstampUI"]),
    .library(name: "HandstampTesting", targets: ["HandstampTesting"]),
  ],
  // Off unless an app asks for them; what is off is not even fetched. A trait's name is a compilation condition.
  traits: [
    .trait(name: "Data", description: "HandstampData: an account's own SQLite database (GRDB)"),
    .trait(
      name: "OpenCombine", description: "HandstampUI's ObservableObject where Apple's Combine is not: for tests of it."),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .target(name: "HandstampCore", swiftSettings: strict),
    .target(name: "HandstampRegistry", dependencies: ["HandstampCore", crypto], swiftSettings: strict),
    .target(name: "HandstampOAuth", dependencies: ["HandstampCore", crypto], swiftSettings: strict),
    .target(name: "HandstampVaults", dependencies: ["HandstampCore", crypto, scrypt], swiftSettings: strict),
    .target(name: "CSecret"),
    .target(
      name: "HandstampSecretService", dependencies: ["HandstampCore", "HandstampVaults", "CSecret"],
      swiftSettings: strict),
    .target(name: "Handstamp", dependencies: ["HandstampCore", "HandstampVaults", crypto], swiftSettings: strict),
    .target(name: "HandstampCookies", dependencies: ["HandstampCore"], swiftSettings: strict),
    .target(name: "HandstampData", dependencies: ["HandstampCore", grdb], swiftSettings: strict),
    .target(name: "HandstampUI", dependencies: ["Handstamp", "HandstampCore", openCombine], swiftSettings: strict),
    .target(
      name: "HandstampTesting",
      dependencies: ["HandstampCore", "HandstampVaults", "Handstamp", "HandstampRegistry"],
      swiftSettings: strict),
    .executableTarget(
      name: "HandstampExplorer", dependencies: ["HandstampCore", "HandstampTesting"],
      path: "Tests/HandstampExplorer", swiftSettings: strict),
    .executableTarget(
      name: "HandstampSimulator", dependencies: ["HandstampTesting"],
      path: "Tests/HandstampSimulator", swiftSettings: strict),
    .testTarget(
      name: "HandstampExplorationTests",
      dependencies: ["HandstampCore", "HandstampRegistry", "HandstampVaults", "HandstampTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampCoreTests", dependencies: ["HandstampCore", "HandstampTesting"], swiftSettings: strict),
    .testTarget(
      name: "HandstampOAuthTests",
      dependencies: ["HandstampOAuth", "HandstampCore", "HandstampVaults", "HandstampTesting", "Handstamp", crypto],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampRegistryTests", dependencies: ["HandstampRegistry", "HandstampCore", "HandstampTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampVaultsTests",
      dependencies: ["HandstampVaults", "HandstampCore", "HandstampTesting", "VaultProbe"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampSecretServiceTests", dependencies: ["SecretProbe"], swiftSettings: strict),
    .executableTarget(
      name: "SecretProbe",
      dependencies: ["HandstampSecretService", "HandstampVaults", "HandstampCore", "HandstampTesting"],
      path: "Tests/SecretProbe", swiftSettings: strict),
    // A process that tests start, watch and kill.
    .executableTarget(
      name: "VaultProbe", dependencies: ["HandstampVaults", "HandstampCore", "HandstampTesting"],
      path: "Tests/VaultProbe", swiftSettings: strict),
    .testTarget(
      name: "HandstampCookiesTests",
      dependencies: ["HandstampCookies", "Handstamp", "HandstampCore", "HandstampVaults", "HandstampTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampDataTests",
      dependencies: ["HandstampData", "HandstampCore", "HandstampTesting", "DataProbe", grdb], swiftSettings: strict),
    // A process that tests kill while it writes.
    .executableTarget(
      name: "DataProbe", dependencies: ["HandstampData", "HandstampCore", grdb], path: "Tests/DataProbe",
      swiftSettings: strict),
    .testTarget(
      name: "HandstampTests", dependencies: ["Handstamp", "HandstampCore", "HandstampVaults", "HandstampTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampUITests",
      dependencies: ["HandstampUI", "Handstamp", "HandstampCore", "HandstampVaults", "HandstampTesting", openCombine],
      swiftSettings: strict),
  ]
)
