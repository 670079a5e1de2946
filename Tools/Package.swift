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
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let jwtKit: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let httpClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

let package = Package(
  name: "handstamp-tools",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "handstamp", targets: ["HandstampCommand"]),
    .executable(name: "handstamp-bench", targets: ["HandstampBench"]),
    .executable(name: "forum-server", targets: ["ForumServer"]),
    .library(name: "HandstampServer", targets: ["HandstampServer"]),
    .library(name: "RegistrySQLite", targets: ["RegistrySQLite"]),
    .library(name: "AsyncHTTPTransport", targets: ["AsyncHTTPTransport"]),
    .library(name: "LoopbackRedirect", targets: ["LoopbackRedirect"]),
    .library(name: "WebSocketTransport", targets: ["WebSocketTransport"]),
  ],
  dependencies: [
    .package(name: "handstamp", path: ".."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"]), .brew(["argon2"])]),
    .target(
      name: "RegistrySQLite",
      dependencies: handstamp("HandstampCore", "HandstampRegistry") + [grdb],
      swiftSettings: strict),
    .target(
      name: "HandstampServer",
      dependencies: handstamp("HandstampCore", "HandstampRegistry")
        + ["CArgon2", hummingbird, hummingbirdCore, jwtKit, crypto, log, nioCore, httpTypes, lifecycle, signals],
      swiftSettings: strict),
    .target(
      name: "AsyncHTTPTransport",
      dependencies: handstamp("HandstampCore") + [httpClient, nioCore, nioHTTP1, nioPosix],
      swiftSettings: strict),
    .target(
      name: "LoopbackRedirect",
      dependencies: handstamp("HandstampCore") + [nioCore, nioHTTP1, nioPosix],
      swiftSettings: strict),
    .target(
      name: "WebSocketTransport",
      dependencies: handstamp("HandstampCore", "Handstamp") + [nioCore, nioHTTP1, nioPosix, nioSSL, nioWebSocket],
      swiftSettings: strict),
    .executableTarget(
      name: "HandstampCommand",
      dependencies: handstamp(
        "HandstampCore", "Handstamp", "HandstampOAuth", "HandstampVaults", "HandstampRegistry",
        "HandstampSecretService")
        + [
          "HandstampServer", "RegistrySQLite", "AsyncHTTPTransport", "LoopbackRedirect", argumentParser, crypto,
          hummingbird, httpTypes, nioCore, log, lifecycle,
        ],
      swiftSettings: strict),
    // A forum to try Examples/ForumReader on.
    .executableTarget(
      name: "ForumServer", dependencies: ["HandstampServer", hummingbird, httpTypes, log, nioCore],
      swiftSettings: strict),
    .executableTarget(
      name: "HandstampBench",
      dependencies: handstamp("HandstampCore", "Handstamp", "HandstampVaults", "HandstampRegistry", "HandstampTesting")
        + [
          "HandstampServer", "RegistrySQLite", httpClient, hummingbird, jwtKit, nioCore, nioHTTP1, argumentParser, log,
        ],
      swiftSettings: strict),
    .testTarget(
      name: "RegistrySQLiteTests",
      dependencies: handstamp("HandstampCore", "HandstampRegistry", "HandstampTesting") + ["RegistrySQLite", grdb],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampServerTests",
      dependencies: handstamp("HandstampCore", "HandstampRegistry", "HandstampTesting")
        + [
          "HandstampServer", "RegistrySQLite", "AsyncHTTPTransport", hummingbird, hummingbirdCore, httpClient, jwtKit,
          crypto, cryptoExtras, httpTypes, nioCore, nioEmbedded, nioHTTP1, log,
        ],
      swiftSettings: strict),
    .testTarget(
      name: "ClientServerTests",
      dependencies: handstamp("HandstampCore", "Handstamp", "HandstampVaults", "HandstampRegistry", "HandstampTesting")
        + [
          "HandstampServer", "AsyncHTTPTransport", "WebSocketTransport", crypto, cryptoExtras, hummingbird, httpTypes,
          nioCore, nioHTTP1, nioPosix, nioWebSocket, log,
        ],
      swiftSettings: strict),
    // Client and server of each standard, against each other and against others' programs.
    .testTarget(
      name: "OpenStandardsTests",
      dependencies: handstamp(
        "HandstampCore", "Handstamp", "HandstampOAuth", "HandstampVaults", "HandstampRegistry", "HandstampTesting")
        + [
          "HandstampCommand", "HandstampServer", "AsyncHTTPTransport", "LoopbackRedirect", crypto, httpTypes,
          hummingbird, log, nioCore, nioPosix,
        ],
      exclude: ["Independent"], swiftSettings: strict),
    .testTarget(
      name: "HandstampCommandTests",
      dependencies: handstamp("HandstampCore", "Handstamp", "HandstampVaults", "HandstampRegistry", "HandstampTesting")
        + [
          "HandstampCommand", "HandstampServer", "RegistrySQLite", "AsyncHTTPTransport", argumentParser, hummingbird,
          httpTypes, nioCore, log,
        ],
      swiftSettings: strict),
  ]
)
