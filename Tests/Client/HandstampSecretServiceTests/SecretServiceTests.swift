#if os(Linux)
import Foundation
import Testing

/// A real gnome-keyring on a bus of its own.
@Suite(.timeLimit(.minutes(10))) struct `The desktop's secret store` {
  private let home: SecretHome

  init() throws { home = try SecretHome() }

  @Test func `keeps the key of a vault, across processes and restarts`() async throws {
    let first = try await home.run("open; probe load read begin read; probe load read")
    #expect(first == ["absent", "absent", "done", "session s1", "key 32", "session s1"])
    #expect(try await home.run("open; probe read") == ["session s1"])
    // There is no key file beside the vault, and the keyring's own copy is sealed.
    let names = try FileManager.default.contentsOfDirectory(atPath: home.vaults)
    #expect(!names.contains { $0.hasSuffix(".key") })
    #expect(names.contains { $0.hasSuffix(".vault") })
  }

  @Test func `is locked, not empty, before it is first unlocked`() async throws {
    #expect(try await home.run("open; probe begin") == ["done"])
    let before = try home.vaultBytes()
    let cold = try await home.run("start; probe locked load read begin remove")
    #expect(cold == ["is locked", "locked", "locked", "locked", "locked"])
    #expect(try home.vaultBytes() == before)
    #expect(try await home.run("open; probe read") == ["session s1"])
  }

  @Test func `is locked, not empty, once it is locked again`() async throws {
    let lines = try await home.run("open; probe begin locked lock locked load; probe read")
    #expect(lines == ["done", "is open", "done", "is locked", "locked", "locked"])
  }

  @Test func `finds an item by its exact name, and removes no other`() async throws {
    let more = "printf 11 | secret-tool store --label=x handstamp-vault-key app account ada"
    let other = "printf 11 | secret-tool store --label=x handstamp-vault-key app2"
    let lines = try await home.run(
      "open; \(more); \(other); probe load store:0123456789abcdef0123456789abcdef load remove load;"
        + " secret-tool lookup handstamp-vault-key app account ada; echo; secret-tool lookup handstamp-vault-key app2"
    )
    #expect(lines == ["absent", "done", "key 32", "done", "absent", "11", "11"])
  }

  @Test func `that does not answer is unavailable after the time limit`() async throws {
    let lines = try await home.run(
      "open; probe begin; kill -STOP $KEYRING; LIMIT=300 probe read; kill -CONT $KEYRING; probe read")
    #expect(lines == ["done", "unavailable: the secret store did not answer in time", "session s1"])
  }

  @Test func `stays locked if no prompt can be shown`() async throws {
    #expect(try await home.run("open; probe begin") == ["done"])
    let lines = try await home.run("start; LIMIT=2000 probe unlock locked read")
    #expect(lines.count == 3 && lines[0] != "done", "\(lines)")
    #expect(lines.suffix(2) == ["is locked", "locked"])
  }

  @Test func `is unavailable without a bus, or without a store on it`() async throws {
    #expect(try await home.run("open; probe begin") == ["done"])
    for nowhere in ["unix:path=/nonexistent", "nonsense"] {
      let lines = try await home.run("DBUS_SESSION_BUS_ADDRESS=\(nowhere) probe load read begin")
      #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("unavailable: the secret store") }, "\(lines)")
    }
    #expect(try await home.run("open; probe read") == ["session s1"])
  }

  @Test func `with another program's item under the name is left alone`() async throws {
    let lines = try await home.run(
      "open; printf nonsense | secret-tool store --label=x handstamp-vault-key app; probe load begin;"
        + " secret-tool lookup handstamp-vault-key app")
    let trouble = "wrong_key: the item in the secret store is not a handstamp key"
    #expect(lines == [trouble, trouble, "nonsense"])
  }
}
#endif
