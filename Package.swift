// swift-tools-version: 6.3
// Longer than 500 lines: one manifest has every target with its traits, and SwiftPM reads no second file.
import PackageDescription

/// The compiler settings of every target of this package. Warnings are errors with the trait `Strict` alone: Xcode, and SwiftPM's
/// build system of that name, suppress the warnings of dependencies, and the compiler refuses both at once.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error, .when(traits: ["Strict"])),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The modules that are explored and simulated, which takes most of the tests' time: `make` sets the variable, and they are
/// optimized in debug builds, too. Without it there are no unsafe flags, which SwiftPM would refuse in a dependency.
let optimized = ["-O", "-whole-module-optimization", "-num-threads", "2"]
let explored =
  strict
  + (Context.environment["HANDSTAMP_OPTIMIZED"] == nil
    ? [] : [.unsafeFlags(optimized, .when(configuration: .debug))])

/// Apple's build systems put a privacy manifest into the app. Elsewhere it would be a folder beside every program, and a file of
/// code that looks for it.
#if canImport(Darwin)
let privacyManifest: [Resource] = [.copy("PrivacyInfo.xcprivacy")]
let withoutManifest: [String] = []
#else
let privacyManifest: [Resource] = []
let withoutManifest = ["PrivacyInfo.xcprivacy"]
#endif

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
/// scrypt. Only for passphrases, and not on Apple's systems, where it would be a second library of cryptography.
let scrypt: Target.Dependency = .product(
  name: "_CryptoExtras", package: "swift-crypto", condition: .when(platforms: [.linux]))
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let openCombine: Target.Dependency = .product(
  name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux], traits: ["Exploration"]))

/// Products of another package, for any of these traits. A single use without a trait would make every app fetch that package.
func products(_ names: String..., of package: String, with traits: String...) -> [Target.Dependency] {
  names.map { .product(name: $0, package: package, condition: .when(traits: Set(traits))) }
}
func grdb(_ trait: String) -> [Target.Dependency] { products("GRDB", of: "GRDB.swift", with: trait) }
func sqlite(_ trait: String) -> [Target.Dependency] { products("GRDBSQLite", of: "GRDB.swift", with: trait) }
func nio(_ names: String..., with traits: String...) -> [Target.Dependency] {
  names.map { .product(name: $0, package: "swift-nio", condition: .when(traits: Set(traits))) }
}
func hummingbird(_ trait: String) -> [Target.Dependency] {
  products("Hummingbird", of: "hummingbird", with: trait) + products("HTTPTypes", of: "swift-http-types", with: trait)
    + products("Logging", of: "swift-log", with: trait) + nio("NIOCore", with: trait)
}

let package = Package(
  name: "handstamp",
  platforms: [.iOS(.v17), .macCatalyst(.v17), .tvOS(.v17), .macOS(.v14), .watchOS(.v10), .visionOS(.v1)],
  products: [
    .library(name: "Handstamp", targets: ["Handstamp"]),
    .library(name: "HandstampCore", targets: ["HandstampCore"]),
    .library(name: "HandstampOAuth", targets: ["HandstampOAuth"]),
    .library(name: "HandstampRegistry", targets: ["HandstampRegistry"]),
    .library(name: "HandstampVaults", targets: ["HandstampVaults"]),
    .library(name: "HandstampKeys", targets: ["HandstampKeys"]),
    .library(name: "HandstampCookies", targets: ["HandstampCookies"]),
    .library(name: "HandstampUI", targets: ["HandstampUI"]),
    .library(name: "HandstampTesting", targets: ["HandstampTesting"]),
    // With a trait each, of the same line below.
    .library(name: "HandstampData", targets: ["HandstampData"]),
    .library(name: "HandstampServer", targets: ["HandstampServer"]),
    .library(name: "HandstampSQLite", targets: ["HandstampSQLite"]),
    .library(name: "HandstampPostgres", targets: ["HandstampPostgres"]),
    .library(name: "HandstampTransports", targets: ["HandstampTransports"]),
    .library(name: "HandstampVerifier", targets: ["HandstampVerifier"]),
    .executable(name: "handstamp", targets: ["HandstampProgram"]),
    .executable(name: "handstamp-server", targets: ["HandstampServerProgram"]),
  ],
  // All are off by default. A package that only traits need is not fetched without them. Trait names are compilation conditions.
  traits: [
    .trait(name: "Data", description: "HandstampData: one SQLite database per account (GRDB)"),
    .trait(
      name: "Server", description: "the session server, and its store in SQLite (Hummingbird, libargon2, GRDB)",
      enabledTraits: ["JOSE", "HTTP"]),
    .trait(
      name: "PostgreSQL", description: "HandstampPostgres: the server's sessions in PostgreSQL (libpq at run time)"),
    .trait(
      name: "Verifier",
      description: "HandstampVerifier: verifies access tokens in other services (AsyncHTTPClient, Hummingbird)",
      enabledTraits: ["JOSE", "AsyncHTTPClient"]),
    .trait(
      name: "AsyncHTTPClient",
      description: "HandstampTransports: requests over AsyncHTTPClient; HTTPS at a server without a proxy"),
    .trait(name: "WebSocket", description: "HandstampTransports: WebSocket streams over SwiftNIO"),
    .trait(
      name: "LoopbackRedirect", description: "HandstampTransports: OAuth redirects to a loopback port (SwiftNIO)"),
    // Of this repository: no other package enables these itself.
    .trait(name: "JOSE", description: "signed tokens and keys as JSON: enabled by the traits that need it"),
    .trait(name: "HTTP", description: "the listener of servers: enabled by the traits that need it"),
    .trait(
      name: "Command", description: "the program handstamp without the parts that `handstamp --version` names",
      enabledTraits: ["HTTP", "LoopbackRedirect"]),
    .trait(
      name: "Operator", description: "the program handstamp-server too, without the parts that its --version names",
      enabledTraits: ["Command", "Server", "PostgreSQL"]),
    .trait(
      name: "Programs", description: "both programs; in this repository also the benchmark and server tests",
      enabledTraits: ["Operator", "AsyncHTTPClient", "WebSocket", "Verifier"]),
    .trait(
      name: "Exploration",
      description: "tests: the exhaustive exploration of the protocol, switches for its faults, OpenCombine on Linux"),
    .trait(name: "Strict", description: "warnings are errors: for builds of this repository"),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Below: only with traits.
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    // MARK: For apps
    // Targets that depend on HandstampCore name HandstampModel, which it exports: SwiftPM 6.3 rebuilds a target for changes of the
    // modules that it names, and of no others.
    // Shared by all modules, and seen by no app: dates, URLs, JSON, encodings, files, locks.
    .target(name: "HandstampSupport", swiftSettings: explored),
    .target(name: "HandstampModel", dependencies: ["HandstampSupport"], swiftSettings: explored),
    .target(name: "HandstampCore", dependencies: ["HandstampModel", "HandstampSupport"], swiftSettings: explored),
    .target(
      name: "HandstampRegistry", dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", crypto],
      swiftSettings: explored),
    .target(
      name: "HandstampOAuth", dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", crypto],
      swiftSettings: strict),
    .target(
      name: "HandstampVaults", dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", crypto],
      swiftSettings: strict),
    // Finds libsecret, libcurl, libpq and libxcrypt at run time.
    .target(name: "CHandstampLibraries"),
    .target(
      name: "HandstampKeys",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", "CHandstampLibraries", scrypt,
      ],
      swiftSettings: strict),
    .target(
      name: "Handstamp",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults",
        // libcurl's requests; without traits, nothing of NIO.
        .target(name: "HandstampTransports", condition: .when(platforms: [.linux])), crypto, logging,
      ],
      exclude: withoutManifest, resources: privacyManifest, swiftSettings: strict),
    .target(
      name: "HandstampCookies", dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport"],
      swiftSettings: strict),
    .target(
      name: "HandstampData",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults"] + grdb("Data"),
      swiftSettings: strict),
    .target(
      name: "HandstampUI",
      dependencies: [
        "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", openCombine,
      ],
      swiftSettings: strict),
    .target(
      name: "HandstampTransports",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport",
        .target(name: "CHandstampLibraries", condition: .when(platforms: [.linux])),
      ]
        + products("AsyncHTTPClient", of: "async-http-client", with: "AsyncHTTPClient")
        + nio("NIOCore", "NIOHTTP1", "NIOPosix", with: "AsyncHTTPClient", "LoopbackRedirect", "WebSocket")
        + nio("NIOWebSocket", with: "WebSocket")
        + products("NIOSSL", of: "swift-nio-ssl", with: "AsyncHTTPClient", "WebSocket")
        + products("NIOHTTPCompression", of: "swift-nio-extras", with: "AsyncHTTPClient")
        + products("NIOExtras", of: "swift-nio-extras", with: "WebSocket"),
      swiftSettings: strict),
    .target(
      name: "HandstampTesting",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", "Handstamp", "HandstampRegistry",
      ],
      swiftSettings: explored),

    // MARK: For servers
    .systemLibrary(
      name: "CHandstampArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"]), .brew(["argon2"])]),
    // Files that are part of the program.
    .target(name: "CHandstampFiles", exclude: ["common-passwords.txt"]),
    // Accepts connections and knows nothing of sessions: for the server, the gate and the agent. HandstampServer exports it.
    .target(
      name: "HandstampHTTP",
      dependencies: ["HandstampModel", "HandstampSupport"]
        + products("HummingbirdCore", of: "hummingbird", with: "HTTP")
        + products("HTTPTypes", of: "swift-http-types", with: "HTTP")
        + products("Logging", of: "swift-log", with: "HTTP")
        + products("ServiceLifecycle", of: "swift-service-lifecycle", with: "HTTP")
        + nio("NIOCore", "NIOHTTP1", "NIOPosix", with: "HTTP")
        + products("NIOHTTPTypes", "NIOHTTPTypesHTTP1", of: "swift-nio-extras", with: "HTTP")
        // HTTPS, with what AsyncHTTPClient needs as well.
        + products("NIOHTTPTypesHTTP2", of: "swift-nio-extras", with: "AsyncHTTPClient")
        + products("NIOHTTP2", of: "swift-nio-http2", with: "AsyncHTTPClient") + nio("NIOTLS", with: "AsyncHTTPClient")
        + products("NIOSSL", of: "swift-nio-ssl", with: "AsyncHTTPClient"),
      swiftSettings: strict),
    // Signed tokens and keys as JSON; seen by no app.
    .target(
      name: "HandstampJOSE",
      dependencies: ["HandstampModel", "HandstampSupport", crypto]
        + products("_CryptoExtras", of: "swift-crypto", with: "JOSE"),
      swiftSettings: strict),
    // Passkeys, as the server verifies them; seen by no app.
    .target(
      name: "HandstampWebAuthn",
      dependencies: ["HandstampSupport", crypto] + products("_CryptoExtras", of: "swift-crypto", with: "JOSE"),
      swiftSettings: strict),
    .target(
      name: "HandstampVerifier",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampJOSE", "HandstampTransports", crypto,
      ]
        + products("Logging", of: "swift-log", with: "Verifier")
        + products("Hummingbird", of: "hummingbird", with: "Verifier")
        + products("HTTPTypes", of: "swift-http-types", with: "Verifier")
        + products("ServiceLifecycle", of: "swift-service-lifecycle", with: "Verifier")
        + nio("NIOCore", with: "Verifier"),
      swiftSettings: strict),
    // The pages for browsers: templates and texts, seen by no app.
    .target(
      name: "HandstampPages",
      dependencies: ["HandstampSupport"] + products("Mustache", of: "swift-mustache", with: "Server"),
      resources: [.embedInCode("Templates")], swiftSettings: strict),
    .target(
      name: "HandstampServer",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampHTTP", "HandstampRegistry", "HandstampOAuth",
        "HandstampPages", crypto,
        .target(name: "HandstampJOSE", condition: .when(traits: ["JOSE"])),
        .target(name: "HandstampWebAuthn", condition: .when(traits: ["JOSE"])),
        // Without the condition every app would be told to install libargon2.
        .target(name: "CHandstampArgon2", condition: .when(traits: ["Server"])),
        .target(name: "CHandstampLibraries", condition: .when(traits: ["Server"])),
        .target(name: "CHandstampFiles", condition: .when(traits: ["Server"])),
      ] + products("_CryptoExtras", of: "swift-crypto", with: "Server") + hummingbird("Server")
        + products("ServiceLifecycle", "UnixSignals", of: "swift-service-lifecycle", with: "Server")
        + products("Metrics", "CoreMetrics", of: "swift-metrics", with: "Server") + nio("NIOHTTP1", with: "Server"),
      swiftSettings: strict),
    // Shared by the stores: keys, and the files beside a database.
    .target(
      name: "HandstampStorage",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "HandstampRegistry", crypto],
      swiftSettings: strict),
    .target(
      name: "HandstampSQLite",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "HandstampRegistry", "HandstampStorage"]
        + grdb("Server") + sqlite("Server"),
      swiftSettings: strict),
    .target(
      name: "HandstampPostgres",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampRegistry", "HandstampStorage",
        .target(name: "CHandstampLibraries", condition: .when(traits: ["PostgreSQL"])),
      ], swiftSettings: strict),

    // MARK: Programs
    // Of both: refusals and hints, output, names of commands, files of secrets.
    .target(
      name: "HandstampCommandLine",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "Handstamp", "HandstampTransports"]
        + products("ArgumentParser", of: "swift-argument-parser", with: "Command")
        + products("Logging", of: "swift-log", with: "Command"),
      swiftSettings: strict),
    // Libraries, so that the tour and the tests reach them.
    .target(
      name: "HandstampCommand",
      dependencies: [
        "HandstampCommandLine", "HandstampCore", "HandstampModel", "HandstampSupport", "Handstamp", "HandstampOAuth",
        "HandstampKeys", "HandstampVaults", "HandstampRegistry", "HandstampTransports", crypto,
        .target(name: "HandstampHTTP", condition: .when(traits: ["Command"])),
      ] + products("ArgumentParser", of: "swift-argument-parser", with: "Command")
        + products("HummingbirdCore", of: "hummingbird", with: "Command")
        + products("HTTPTypes", of: "swift-http-types", with: "Command")
        + products("Logging", of: "swift-log", with: "Command") + nio("NIOCore", with: "Command"),
      swiftSettings: strict),
    .executableTarget(name: "HandstampProgram", dependencies: ["HandstampCommand"], swiftSettings: strict),
    .target(
      name: "HandstampOperator",
      dependencies: [
        "HandstampCommandLine", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampHTTP",
        "HandstampRegistry", "HandstampServer", "HandstampSQLite", "HandstampPostgres", "HandstampStorage",
        "HandstampTransports", "HandstampVerifier",
      ] + hummingbird("Operator") + products("ArgumentParser", of: "swift-argument-parser", with: "Operator")
        + products("ServiceLifecycle", "UnixSignals", of: "swift-service-lifecycle", with: "Operator")
        + products("Yams", of: "Yams", with: "Operator"),
      swiftSettings: strict),
    .executableTarget(name: "HandstampServerProgram", dependencies: ["HandstampOperator"], swiftSettings: strict),

    // MARK: Programs of this repository, which no product contains
    .executableTarget(
      name: "HandstampTour",
      dependencies: [
        "HandstampCommandLine", "HandstampCommand", "HandstampProgram", "HandstampServerProgram", "HandstampCore",
        "HandstampModel", "HandstampSupport", "Handstamp", "HandstampHTTP", "HandstampServer", "HandstampVaults",
      ] + hummingbird("Operator") + products("ArgumentParser", of: "swift-argument-parser", with: "Operator")
        + products("ServiceLifecycle", of: "swift-service-lifecycle", with: "Operator"),
      path: "Programs/HandstampTour", swiftSettings: strict),
    .executableTarget(
      name: "HandstampBench",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "Handstamp", "HandstampVaults", "HandstampRegistry",
        "HandstampTesting",
        "HandstampJOSE", "HandstampHTTP", "HandstampServer", "HandstampVerifier",
        "HandstampSQLite", "HandstampTransports", crypto,
      ] + hummingbird("Programs")
        + products("AsyncHTTPClient", of: "async-http-client", with: "Programs")
        + products("ArgumentParser", of: "swift-argument-parser", with: "Programs")
        + nio("NIOHTTP1", with: "Programs"),
      path: "Programs/HandstampBench", swiftSettings: strict),
    // A forum to try Examples/ForumReader and two programs of Examples/Documents on.
    .executableTarget(
      name: "HandstampForumServer",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "HandstampHTTP", "HandstampServer"]
        + hummingbird("Programs"),
      path: "Examples/ForumReader/Server", swiftSettings: strict),
    // The model of an example app, for its tests.
    .target(
      name: "AccountsExample",
      dependencies: ["Handstamp"],
      path: "Examples/Documents/Sources/SeveralAccounts", exclude: ["SeveralAccountsApp.swift"], swiftSettings: strict),
    // Client and server as one model, which is explored and simulated; in no product.
    .target(
      name: "HandstampExploration",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", "HandstampRegistry",
        "HandstampTesting",
      ],
      path: "Tests/HandstampExploration", swiftSettings: explored),
    .executableTarget(
      name: "HandstampExplorer",
      dependencies: ["HandstampCore", "HandstampModel", "HandstampSupport", "HandstampExploration"],
      path: "Tests/HandstampExplorer", swiftSettings: strict),
    .executableTarget(
      name: "HandstampSimulator",
      dependencies: [
        "HandstampCore", "HandstampExploration", "HandstampModel", "HandstampTesting", "HandstampSupport",
      ],
      path: "Tests/HandstampSimulator", swiftSettings: strict),
    // Processes that tests start, watch and kill.
    .executableTarget(
      name: "VaultProbe",
      dependencies: [
        "HandstampKeys", "HandstampVaults", "HandstampCore", "HandstampModel", "HandstampSupport",
        "HandstampTesting",
      ],
      path: "Tests/VaultProbe", swiftSettings: strict),
    .executableTarget(
      name: "SecretProbe",
      dependencies: [
        "HandstampKeys", "HandstampVaults", "HandstampCore", "HandstampModel", "HandstampSupport",
        "HandstampTesting",
      ],
      path: "Tests/SecretProbe", swiftSettings: strict),
    .executableTarget(
      name: "DataProbe",
      dependencies: [
        "HandstampData", "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults",
        "HandstampTesting",
      ] + grdb("Data"),
      path: "Tests/DataProbe",
      swiftSettings: strict),

    .executableTarget(
      name: "SessionProbe",
      dependencies: [
        "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampOAuth", "HandstampVaults",
        "HandstampTransports",
      ],
      path: "Tests/SessionProbe", swiftSettings: strict),

    // MARK: Tests
    .testTarget(
      name: "HandstampExplorationTests",
      dependencies: [
        "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampRegistry", "HandstampVaults",
        "HandstampExploration", "HandstampTesting",
      ],
      swiftSettings: strict),
    .testTarget(name: "HandstampSupportTests", dependencies: ["HandstampSupport"], swiftSettings: strict),
    .testTarget(
      name: "HandstampCoreTests",
      dependencies: [
        "HandstampCore", "HandstampExploration", "HandstampModel", "HandstampSupport", "HandstampTesting",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampOAuthTests",
      dependencies: [
        "HandstampOAuth", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", "HandstampTesting",
        "Handstamp", crypto,
      ],
      exclude: ["Providers"], swiftSettings: strict),
    .testTarget(
      name: "HandstampRegistryTests",
      dependencies: ["HandstampRegistry", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampVaultsTests",
      dependencies: [
        "HandstampKeys", "HandstampVaults", "HandstampCore", "HandstampModel", "HandstampSupport",
        "HandstampTesting", "VaultProbe",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampSecretServiceTests", dependencies: ["SecretProbe"], swiftSettings: strict),
    .testTarget(
      name: "HandstampCookiesTests",
      dependencies: [
        "HandstampCookies", "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults",
        "HandstampTesting",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampDataTests",
      dependencies: [
        "HandstampData", "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults",
        "HandstampTesting",
        "DataProbe",
      ] + grdb("Data"),
      swiftSettings: strict),
    .testTarget(
      name: "HandstampTests",
      dependencies: [
        "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults", "HandstampTesting",
        logging,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampUITests",
      dependencies: [
        "HandstampUI", "Handstamp", "HandstampCore", "HandstampModel", "HandstampSupport", "HandstampVaults",
        "HandstampTesting", "AccountsExample",
        openCombine,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "HandstampSQLiteTests",
      dependencies: [
        "HandstampSQLite", "HandstampStorage", "HandstampCore", "HandstampModel", "HandstampSupport",
        "HandstampRegistry",
        "HandstampTesting",
      ]
        + grdb("Server"),
      swiftSettings: strict),
    .testTarget(
      name: "HandstampPostgresTests",
      dependencies: [
        "HandstampPostgres", "HandstampSQLite", "HandstampStorage", "HandstampCore", "HandstampModel",
        "HandstampSupport", "HandstampRegistry", "HandstampTesting", "CHandstampLibraries",
      ], swiftSettings: strict),
    .testTarget(
      name: "HandstampWebAuthnTests",
      dependencies: ["HandstampWebAuthn", "HandstampSupport", crypto]
        + products("CryptoExtras", of: "swift-crypto", with: "JOSE"),
      exclude: ["Independent"], swiftSettings: strict),
    .testTarget(
      name: "HandstampServerTests",
      dependencies: [
        "HandstampVerifier", "HandstampPages", "HandstampHTTP", "HandstampServer", "HandstampSQLite",
        "HandstampTransports",
        "HandstampCore", "HandstampJOSE", "HandstampModel", "HandstampWebAuthn",
        "HandstampSupport",
        "HandstampRegistry",
        "HandstampTesting", crypto,
      ] + hummingbird("Programs") + products("HummingbirdCore", of: "hummingbird", with: "Programs")
        + products("AsyncHTTPClient", of: "async-http-client", with: "Programs")
        + products("CryptoExtras", of: "swift-crypto", with: "Programs")
        + products("ServiceLifecycle", of: "swift-service-lifecycle", with: "Programs")
        + products("NIOSSL", of: "swift-nio-ssl", with: "Programs")
        + nio("NIOEmbedded", "NIOHTTP1", with: "Programs"),
      exclude: ["Independent"], swiftSettings: strict),
    .testTarget(
      name: "HandstampVerifierTests",
      dependencies: [
        "HandstampVerifier", "HandstampCore", "HandstampJOSE", "HandstampModel", "HandstampSupport", "HandstampTesting",
        crypto,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ClientServerTests",
      dependencies: [
        "HandstampHTTP", "HandstampServer", "HandstampTransports", "HandstampCore", "HandstampModel",
        "HandstampSupport", "Handstamp", "HandstampUI",
        "HandstampVaults",
        "HandstampSQLite", "HandstampStorage", "HandstampRegistry", "HandstampTesting", crypto,
      ] + hummingbird("Programs") + products("CryptoExtras", of: "swift-crypto", with: "Programs")
        + nio("NIOHTTP1", "NIOPosix", "NIOWebSocket", with: "Programs"),
      swiftSettings: strict),
    // Client and server of each standard, against each other and against others' programs.
    .testTarget(
      name: "OpenStandardsTests",
      dependencies: [
        "HandstampCommandLine", "HandstampCommand", "HandstampProgram", "HandstampServerProgram", "HandstampTour",
        "HandstampHTTP", "HandstampServer", "HandstampTransports",
        "HandstampCore",
        "HandstampModel", "HandstampSupport", "Handstamp",
        "HandstampOAuth", "HandstampVaults", "HandstampRegistry", "HandstampTesting", "SessionProbe", crypto,
      ] + hummingbird("Programs") + nio("NIOPosix", with: "Programs"),
      exclude: ["Independent"], swiftSettings: strict),
    .testTarget(
      name: "HandstampCommandTests",
      dependencies: [
        "HandstampCommandLine", "HandstampCommand", "HandstampOperator", "HandstampProgram", "HandstampServerProgram",
        "HandstampTour", "HandstampJOSE", "HandstampHTTP", "HandstampServer", "HandstampSQLite",
        "HandstampPostgres",
        "HandstampStorage", "HandstampTransports", "HandstampCore",
        "HandstampModel", "HandstampSupport", "Handstamp",
        "HandstampKeys", "HandstampVaults", "HandstampRegistry", "HandstampTesting", crypto,
      ] + hummingbird("Programs") + products("ArgumentParser", of: "swift-argument-parser", with: "Command"),
      swiftSettings: strict),
  ]
)
