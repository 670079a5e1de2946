// swift-tools-version: 6.3
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

/// The modules in which exploration and simulation spend their time, which is most of the tests': `make` sets the variable, and they
/// are optimized in debug builds, too. Without it there are no unsafe flags, which SwiftPM would refuse in a dependency.
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

/// The packages of products, but for those of swift-nio.
let packages = [
  "ArgumentParser": "swift-argument-parser", "AsyncHTTPClient": "async-http-client", "CoreMetrics": "swift-metrics",
  "CryptoExtras": "swift-crypto", "GRDB": "GRDB.swift", "GRDBSQLite": "GRDB.swift", "HTTPTypes": "swift-http-types",
  "Hummingbird": "hummingbird", "HummingbirdCore": "hummingbird", "Logging": "swift-log", "Metrics": "swift-metrics",
  "Mustache": "swift-mustache", "NIOExtras": "swift-nio-extras", "NIOHTTP2": "swift-nio-http2",
  "NIOHTTPCompression": "swift-nio-extras", "NIOHTTPTypes": "swift-nio-extras",
  "NIOHTTPTypesHTTP1": "swift-nio-extras", "NIOHTTPTypesHTTP2": "swift-nio-extras", "NIOSSL": "swift-nio-ssl",
  "ServiceLifecycle": "swift-service-lifecycle", "UnixSignals": "swift-service-lifecycle", "Yams": "Yams",
  "_CryptoExtras": "swift-crypto",
]
/// Products of other packages, for any of these traits. A single use without a trait would make every app fetch that package.
func products(_ names: String..., with traits: String...) -> [Target.Dependency] {
  names.map {
    .product(name: $0, package: packages[$0, default: "swift-nio"], condition: .when(traits: Set(traits)))
  }
}
func hummingbird(_ trait: String) -> [Target.Dependency] {
  products("Hummingbird", "HTTPTypes", "Logging", "NIOCore", with: trait)
}

/// Each is a product, and has a target of its name. Those from HandstampData on have little or nothing without a trait.
let libraries = [
  "Handstamp", "HandstampCore", "HandstampOAuth", "HandstampRegistry", "HandstampKeys", "HandstampCookies",
  "HandstampUI", "HandstampTesting", "HandstampData", "HandstampServer", "HandstampSQLite", "HandstampPostgres",
  "HandstampTransports", "HandstampVerifier",
]

/// Targets in the folder of their readers, each in a folder of its name, with the usual settings unless it says otherwise. Every
/// target in Swift may import HandstampSupport.
func targets(in folder: String?, _ targets: [Target], settings: [SwiftSetting]? = strict) -> [Target] {
  for target in targets {
    if settings != nil, !["HandstampSupport", "HandstampCore"].contains(target.name) {
      target.dependencies.append("HandstampSupport")
    }
    target.path = target.path ?? folder.map { "\($0)/\(target.name)" }
    target.swiftSettings = target.swiftSettings ?? settings
  }
  return targets
}

/// The modules that apps link, with the test support.
let client: [Target] = [
  // Shared by all modules, and seen by no app: dates, URLs, JSON, encodings, files, locks.
  .target(name: "HandstampSupport", swiftSettings: explored),
  // SwiftPM 6.3 rebuilds a target for changes of the modules that it names, and of no others: beside Handstamp, which exports
  // HandstampCore, targets name this one as well.
  .target(name: "HandstampCore", dependencies: ["HandstampSupport"], swiftSettings: explored),
  .target(name: "HandstampOAuth", dependencies: ["HandstampCore", crypto]),
  .target(name: "HandstampKeys", dependencies: ["HandstampCore", "Handstamp", "CHandstampLibraries", scrypt]),
  .target(
    name: "Handstamp",
    dependencies: [
      "HandstampCore",
      // libcurl's requests; without traits, nothing of NIO.
      .target(name: "HandstampTransports", condition: .when(platforms: [.linux])), crypto, logging,
    ], exclude: withoutManifest, resources: privacyManifest),
  .target(name: "HandstampCookies", dependencies: ["HandstampCore"]),
  .target(name: "HandstampData", dependencies: ["HandstampCore", "Handstamp"] + products("GRDB", with: "Data")),
  .target(name: "HandstampUI", dependencies: ["Handstamp", "HandstampCore", openCombine]),
  .target(
    name: "HandstampTransports",
    dependencies: ["HandstampCore", .target(name: "CHandstampLibraries", condition: .when(platforms: [.linux]))]
      + products("AsyncHTTPClient", with: "AsyncHTTPClient")
      + products("NIOCore", "NIOHTTP1", "NIOPosix", with: "AsyncHTTPClient", "LoopbackRedirect", "WebSocket")
      + products("NIOWebSocket", with: "WebSocket") + products("NIOSSL", with: "AsyncHTTPClient", "WebSocket")
      + products("NIOHTTPCompression", with: "AsyncHTTPClient") + products("NIOExtras", with: "WebSocket")),
  .target(name: "HandstampTesting", dependencies: ["HandstampCore", "Handstamp", "HandstampRegistry"]),
]

/// The session server and its stores, for operators and for programs that embed them.
let server: [Target] = [
  .target(name: "HandstampRegistry", dependencies: ["HandstampCore", crypto]),
  // Accepts connections and knows nothing of sessions: for the server, the gate and the agent. HandstampServer exports it.
  .target(
    name: "HandstampHTTP",
    dependencies: ["HandstampCore"]
      + products(
        "HummingbirdCore", "HTTPTypes", "Logging", "ServiceLifecycle", "NIOCore", "NIOHTTP1", "NIOPosix",
        "NIOHTTPTypes", "NIOHTTPTypesHTTP1", with: "HTTP")
      // HTTPS, with what AsyncHTTPClient needs as well.
      + products("NIOHTTPTypesHTTP2", "NIOHTTP2", "NIOTLS", "NIOSSL", with: "AsyncHTTPClient")),
  // Signed tokens and keys as JSON; seen by no app.
  .target(name: "HandstampJOSE", dependencies: ["HandstampCore", crypto] + products("_CryptoExtras", with: "JOSE")),
  // Passkeys, as the server verifies them; seen by no app.
  .target(name: "HandstampWebAuthn", dependencies: [crypto] + products("_CryptoExtras", with: "JOSE")),
  .target(
    name: "HandstampVerifier",
    dependencies: ["HandstampCore", "HandstampJOSE", "HandstampTransports", crypto]
      + products("Logging", "Hummingbird", "HTTPTypes", "ServiceLifecycle", "NIOCore", with: "Verifier")),
  .target(
    name: "HandstampServer",
    dependencies: [
      "HandstampCore", "HandstampHTTP", "HandstampRegistry", "HandstampOAuth", crypto,
      .target(name: "HandstampJOSE", condition: .when(traits: ["JOSE"])),
      .target(name: "HandstampWebAuthn", condition: .when(traits: ["JOSE"])),
      // Without the condition every app would be told to install libargon2.
      .target(name: "CHandstampArgon2", condition: .when(traits: ["Server"])),
      .target(name: "CHandstampLibraries", condition: .when(traits: ["Server"])),
      .target(name: "CHandstampFiles", condition: .when(traits: ["Server"])),
    ] + products("_CryptoExtras", with: "Server") + hummingbird("Server")
      + products("ServiceLifecycle", "UnixSignals", "Metrics", "CoreMetrics", "NIOHTTP1", with: "Server")
      + products("Mustache", with: "Server"), exclude: ["Templates"]),
  .target(
    name: "HandstampSQLite",
    dependencies: ["HandstampCore", "HandstampRegistry"] + products("GRDB", "GRDBSQLite", with: "Server")),
  .target(
    name: "HandstampPostgres",
    dependencies: [
      "HandstampCore", "HandstampRegistry",
      .target(name: "CHandstampLibraries", condition: .when(traits: ["PostgreSQL"])),
    ]),
]

let programs: [Target] = [
  // Of both: refusals and hints, output, names of commands, files of secrets.
  .target(
    name: "HandstampCommandLine",
    dependencies: ["HandstampCore", "Handstamp", "HandstampTransports"]
      + products("ArgumentParser", "Logging", with: "Command")),
  // Libraries, so that the tour and the tests reach them.
  .target(
    name: "HandstampCommand",
    dependencies: [
      "HandstampCommandLine", "HandstampCore", "Handstamp", "HandstampOAuth", "HandstampKeys",
      "HandstampTransports", crypto, .target(name: "HandstampHTTP", condition: .when(traits: ["Command"])),
    ] + products("ArgumentParser", "HummingbirdCore", "HTTPTypes", "Logging", "NIOCore", with: "Command")),
  .executableTarget(name: "HandstampProgram", dependencies: ["HandstampCommand"]),
  .target(
    name: "HandstampOperator",
    dependencies: [
      "HandstampCommandLine", "HandstampCore", "HandstampHTTP", "HandstampRegistry", "HandstampServer",
      "HandstampSQLite", "HandstampPostgres", "HandstampTransports", "HandstampVerifier",
    ] + hummingbird("Operator")
      + products("ArgumentParser", "ServiceLifecycle", "UnixSignals", "Yams", with: "Operator")),
  .executableTarget(name: "HandstampServerProgram", dependencies: ["HandstampOperator"]),
]

/// Libraries of the system, and files inside the program.
let system: [Target] = [
  // Finds libsecret, libcurl, libpq and libxcrypt at run time.
  .target(name: "CHandstampLibraries"),
  .systemLibrary(
    name: "CHandstampArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"]), .brew(["argon2"])]),
  // Files that are part of the program.
  .target(name: "CHandstampFiles", exclude: ["common-passwords.txt"]),
]

/// Of this repository: no product contains them.
let apart: [Target] = [
  .executableTarget(
    name: "HandstampTour",
    dependencies: [
      "HandstampCommandLine", "HandstampCommand", "HandstampProgram", "HandstampServerProgram", "HandstampCore",
      "Handstamp", "HandstampHTTP", "HandstampServer",
    ] + hummingbird("Operator") + products("ArgumentParser", "ServiceLifecycle", with: "Operator"),
    path: "Programs/HandstampTour"),
  .executableTarget(
    name: "HandstampBench",
    dependencies: [
      "HandstampCore", "Handstamp", "HandstampRegistry", "HandstampTesting", "HandstampJOSE", "HandstampHTTP",
      "HandstampServer", "HandstampVerifier", "HandstampSQLite", "HandstampPostgres", "HandstampTransports", crypto,
    ] + hummingbird("Programs") + products("AsyncHTTPClient", "ArgumentParser", "NIOHTTP1", with: "Programs"),
    path: "Programs/HandstampBench"),
  // A forum to try Examples/ForumReader and two programs of Examples/Documents on.
  .executableTarget(
    name: "HandstampForumServer",
    dependencies: ["HandstampCore", "HandstampHTTP", "HandstampServer"] + hummingbird("Programs"),
    path: "Examples/ForumReader/Server"),
  // The model of an example app, for its tests.
  .target(
    name: "AccountsExample", dependencies: ["Handstamp", "HandstampCore"],
    path: "Examples/Documents/Sources/SeveralAccounts",
    exclude: ["SeveralAccountsApp.swift"]),
]

let testsClient: [Target] = [
  // Processes that tests start, watch and kill.
  .executableTarget(
    name: "VaultProbe", dependencies: ["HandstampKeys", "Handstamp", "HandstampCore", "HandstampTesting"]),
  .executableTarget(
    name: "SecretProbe", dependencies: ["HandstampKeys", "Handstamp", "HandstampCore", "HandstampTesting"]),
  .executableTarget(
    name: "DataProbe",
    dependencies: ["HandstampData", "Handstamp", "HandstampCore", "HandstampTesting"] + products("GRDB", with: "Data")),
  .executableTarget(
    name: "SessionProbe", dependencies: ["Handstamp", "HandstampCore", "HandstampOAuth", "HandstampTransports"]),
  .testTarget(name: "HandstampSupportTests"),
  .testTarget(name: "HandstampCoreTests", dependencies: ["HandstampCore", "HandstampExploration", "HandstampTesting"]),
  .testTarget(
    name: "HandstampOAuthTests",
    dependencies: ["HandstampOAuth", "HandstampCore", "Handstamp", "HandstampTesting", crypto], exclude: ["Providers"]),
  .testTarget(
    name: "HandstampVaultsTests",
    dependencies: ["HandstampKeys", "Handstamp", "HandstampCore", "HandstampTesting", "VaultProbe"]),
  .testTarget(name: "HandstampSecretServiceTests", dependencies: ["SecretProbe"]),
  .testTarget(
    name: "HandstampCookiesTests", dependencies: ["HandstampCookies", "Handstamp", "HandstampCore", "HandstampTesting"]),
  .testTarget(
    name: "HandstampDataTests",
    dependencies: ["HandstampData", "Handstamp", "HandstampCore", "HandstampTesting", "DataProbe"]
      + products("GRDB", with: "Data")),
  .testTarget(name: "HandstampTests", dependencies: ["Handstamp", "HandstampCore", "HandstampTesting", logging]),
  .testTarget(
    name: "HandstampUITests",
    dependencies: ["HandstampUI", "Handstamp", "HandstampCore", "HandstampTesting", "AccountsExample", openCombine]),
]

let testsServer: [Target] = [
  .testTarget(
    name: "HandstampRegistryTests", dependencies: ["HandstampRegistry", "HandstampCore", "HandstampTesting"]),
  .testTarget(
    name: "HandstampSQLiteTests",
    dependencies: ["HandstampSQLite", "HandstampRegistry", "HandstampCore", "HandstampTesting"]
      + products("GRDB", with: "Server")),
  .testTarget(
    name: "HandstampPostgresTests",
    dependencies: [
      "HandstampPostgres", "HandstampSQLite", "HandstampRegistry", "HandstampCore", "HandstampTesting",
      "CHandstampLibraries",
    ]),
  .testTarget(
    name: "HandstampWebAuthnTests",
    dependencies: ["HandstampWebAuthn", crypto] + products("CryptoExtras", with: "JOSE"), exclude: ["Independent"]),
  .testTarget(
    name: "HandstampServerTests",
    dependencies: [
      "HandstampVerifier", "HandstampServer", "HandstampHTTP", "HandstampSQLite", "HandstampTransports",
      "HandstampCore", "HandstampJOSE", "HandstampWebAuthn", "HandstampRegistry", "HandstampTesting", crypto,
    ] + hummingbird("Programs")
      + products(
        "HummingbirdCore", "AsyncHTTPClient", "CryptoExtras", "ServiceLifecycle", "NIOSSL", "NIOEmbedded", "NIOHTTP1",
        with: "Programs"), exclude: ["Independent"]),
  .testTarget(
    name: "HandstampVerifierTests",
    dependencies: ["HandstampVerifier", "HandstampCore", "HandstampJOSE", "HandstampTesting", crypto]),
]

let testsPrograms: [Target] = [
  .testTarget(
    name: "HandstampCommandTests",
    dependencies: [
      "HandstampCommandLine", "HandstampCommand", "HandstampOperator", "HandstampProgram", "HandstampServerProgram",
      "HandstampTour", "HandstampJOSE", "HandstampHTTP", "HandstampServer", "HandstampSQLite", "HandstampPostgres",
      "HandstampRegistry", "HandstampTransports", "HandstampCore", "Handstamp", "HandstampKeys", "HandstampTesting",
      crypto,
    ] + hummingbird("Programs") + products("ArgumentParser", with: "Command"), exclude: ["Documents/stage.bash"])
]

let testsTogether: [Target] = [
  // Client and server as one model, which is explored and simulated; in no product.
  .target(
    name: "HandstampExploration",
    dependencies: ["HandstampCore", "Handstamp", "HandstampRegistry", "HandstampTesting"], swiftSettings: explored),
  .executableTarget(name: "HandstampExplorer", dependencies: ["HandstampCore", "HandstampExploration"]),
  .executableTarget(
    name: "HandstampSimulator", dependencies: ["HandstampCore", "HandstampExploration", "HandstampTesting"]),
  .testTarget(
    name: "HandstampExplorationTests",
    dependencies: ["HandstampCore", "HandstampRegistry", "Handstamp", "HandstampExploration", "HandstampTesting"]),
  .testTarget(
    name: "ClientServerTests",
    dependencies: [
      "HandstampHTTP", "HandstampServer", "HandstampTransports", "HandstampCore", "Handstamp", "HandstampUI",
      "HandstampSQLite", "HandstampRegistry", "HandstampTesting", crypto,
    ] + hummingbird("Programs") + products("CryptoExtras", "NIOHTTP1", "NIOPosix", "NIOWebSocket", with: "Programs")),
  // Client and server of each standard, against each other and against others' programs.
  .testTarget(
    name: "OpenStandardsTests",
    dependencies: [
      "HandstampCommandLine", "HandstampCommand", "HandstampProgram", "HandstampServerProgram", "HandstampTour",
      "HandstampHTTP", "HandstampServer", "HandstampTransports", "HandstampCore", "Handstamp", "HandstampOAuth",
      "HandstampRegistry", "HandstampTesting", "SessionProbe", crypto,
    ] + hummingbird("Programs") + products("NIOPosix", with: "Programs"), exclude: ["Independent"]),
]

let package = Package(
  name: "handstamp",
  platforms: [.iOS(.v17), .macCatalyst(.v17), .tvOS(.v17), .macOS(.v14), .watchOS(.v10), .visionOS(.v1)],
  products: libraries.map { .library(name: $0, targets: [$0]) } + [
    .executable(name: "handstamp", targets: ["HandstampProgram"]),
    .executable(name: "handstamp-server", targets: ["HandstampServerProgram"]),
  ],
  // All are off by default. A package that only traits need is not fetched without them. Trait names are compilation conditions.
  traits: [
    .trait(name: "Data", description: "HandstampData: one SQLite database per account (GRDB)"),
    .trait(
      name: "Server", description: "the session server, and its store in SQLite (Hummingbird, libargon2, GRDB)",
      enabledTraits: ["JOSE", "HTTP"]),
    .trait(name: "PostgreSQL", description: "HandstampPostgres: the server's store in PostgreSQL (libpq at run time)"),
    .trait(
      name: "Verifier", description: "HandstampVerifier: tokens in other services (AsyncHTTPClient, Hummingbird)",
      enabledTraits: ["JOSE", "AsyncHTTPClient"]),
    .trait(name: "AsyncHTTPClient", description: "requests over AsyncHTTPClient; HTTPS at a server without a proxy"),
    .trait(name: "WebSocket", description: "HandstampTransports: WebSocket streams over SwiftNIO"),
    .trait(name: "LoopbackRedirect", description: "HandstampTransports: OAuth redirects to a loopback port"),
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
    .trait(name: "Exploration", description: "tests: the exploration of the protocol, OpenCombine on Linux"),
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
  targets: targets(in: "Sources/Client", client) + targets(in: "Sources/Server", server)
    + targets(in: "Sources/Programs", programs) + targets(in: "Sources/C", system, settings: nil)
    + targets(in: nil, apart) + targets(in: "Tests/Client", testsClient)
    + targets(in: "Tests/Server", testsServer) + targets(in: "Tests/Programs", testsPrograms)
    + targets(in: "Tests/Together", testsTogether)
)
