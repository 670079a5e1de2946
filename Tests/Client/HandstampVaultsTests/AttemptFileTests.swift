import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.serialized, .timeLimit(.minutes(10))) struct `The lock of an attempt` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  /// Starts a process that holds the lock.
  private func holder(_ words: String...) async throws -> (child: Child, file: FileIdentity) {
    let child = try Child([Child.probe, home.vaults, "lock"] + words)
    let numbers = try #require(await child.line(beginning: "locked ")).split(separator: " ").compactMap { UInt64($0) }
    try #require(numbers.count == 2)
    return (child, FileIdentity(device: numbers[0], number: numbers[1]))
  }

  private func begin() async throws -> SealedFileVault {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    return home.vault()
  }

  @Test(arguments: [[], ["child"]])
  func `is free once its holder has died, whatever that has started, and not while it is stopped`(_ words: [String])
    async throws
  {
    let vault = try await begin()
    let (child, file) = try await words.isEmpty ? holder() : holder("child")
    #expect(!vault.isFree(file))
    kill(child.id, SIGSTOP)
    #expect(await eventually { LockHolder.isStopped(child.id) })
    #expect(!vault.isFree(file))
    await child.kill()
    #expect(vault.isFree(file))
    // The next sender takes the file over, and removes it.
    #expect(home.names(ending: ".attempt").count == 1)
    let next = try #require(vault.lockAttempt())
    #expect(next.identity == file && !home.vault().isFree(file))
    next.lock.unlock()
    #expect(home.names(ending: ".attempt").isEmpty && !vault.isFree(file))
    _ = try await child.end()
  }

  @Test func `of a sender whose limit has passed is not taken from it, nor for that of the next one`() async throws {
    let vault = try await begin()
    let first = try #require(home.vault().lockAttempt())
    let second = try #require(vault.lockAttempt())
    #expect(first.identity != second.identity)
    #expect(!vault.isFree(first.identity) && !vault.isFree(second.identity))
    first.lock.unlock()
    #expect(!vault.isFree(first.identity) && !vault.isFree(second.identity))
    #expect(home.names(ending: ".attempt").count == 1)
    second.lock.unlock()
    #expect(home.names(ending: ".attempt").isEmpty)
  }

  @Test func `is removed by a sign-out after its holder has died, and by nothing else kept from one`() async throws {
    let vault = try await begin()
    let (child, _) = try await holder()
    await child.kill()
    _ = try await child.end()
    _ = await vault.edit(.touch(VaultSamples.session().id, at: VaultSamples.moment(9)))
    #expect(home.names(ending: ".attempt").count == 1)
    guard case .done = await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(10))) else {
      Issue.record("not signed out")
      return
    }
    #expect(home.names(ending: ".attempt").isEmpty)
  }

  @Test(arguments: ["mkdir", "ln -s /dev/null"])
  func `is not taken where something else has its name`(command: String) async throws {
    let vault = try await begin()
    let name = VaultFiles(account: AccountID("ada")).attempt
    #expect(await Child.succeeds("sh", "-c", "\(command) '\(home.vaults)/\(name)'"))
    #expect(vault.lockAttempt() == nil)
    #expect(!vault.isFree(FileIdentity(device: 1, number: 1)))
    #expect(home.names(ending: ".attempt").count == 1)
  }

  #if os(Linux)
  @Test func `needs a file system that is known to be local`() throws {
    let systems = ["/proc", "/sys", "/dev/shm"].map { try? PosixFile.folder($0)?.fileSystem }
    #expect(systems == ["proc", "sysfs", "tmpfs"])
  }

  @Test(.enabled("needs a mount namespace: unshare is not allowed here") { await Namespace.isUsable() })
  func `is not taken on a file system that is not known`() async throws {
    let output = try await Namespace.run(
      """
      mount -t ramfs -o mode=0700 ramfs "$FOLDER"
      "$PROBE" "$FOLDER/v" begin s1
      "$PROBE" "$FOLDER/v" lock
      mount -t tmpfs -o mode=0700 tmpfs "$FOLDER"
      "$PROBE" "$FOLDER/v" begin s1
      "$PROBE" "$FOLDER/v" lock | cut -d " " -f 1
      """, folder: home.path)
    #expect(output.split(separator: "\n") == ["done 1 s1 []", "no lock", "done 1 s1 []", "locked", "let"])
  }

  @Test(.enabled("needs strace and permission to trace") { await Strace.isUsable() })
  func `is not taken on a file system that grants it twice`() async throws {
    _ = try await begin()
    let child = try Strace.probe([home.vaults, "lock"], inject: "flock:retval=0")
    #expect(try await child.end() == "no lock")
  }
  #endif
}
