#if Programs
import Foundation
import NIOCore
import NIOPosix
import Testing

/// The program tinyproxy, on a port of this machine.
enum TinyProxy {
  static func run(_ body: (_ port: Int) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tinyproxy-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = MultiThreadedEventLoopGroup.singleton
    let free = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(free.localAddress?.port)
    try await free.close()
    try "Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nAllow 127.0.0.1\nLogFile \"\(folder)/log\"\n"
      .write(toFile: folder + "/conf", atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["tinyproxy", "-d", "-c", folder + "/conf"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { kill(process.processIdentifier, SIGKILL) }
    let end = ContinuousClock.now + .seconds(20)
    var isOpen = false
    while !isOpen, ContinuousClock.now < end {
      if let channel = try? await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port).get() {
        isOpen = true
        try? await channel.close()
      }
    }
    try #require(isOpen, "tinyproxy is missing or did not start; scripts/deps --tests installs it")
    try await body(port)
  }
}
#endif
