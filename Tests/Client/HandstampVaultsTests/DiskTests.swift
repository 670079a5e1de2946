import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A vault on an unreliable disk` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test(
    .enabled("a small disk needs a mount namespace: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `on a full disk keeps its entry, still signs out, and recovers when there is space`() async throws {
    let output = try await Namespace.run(
      """
      set -e
      mount -t tmpfs -o size=128k,mode=0700 tmpfs "$FOLDER"
      p() { "$PROBE" "$FOLDER/v" "$@"; }
      p begin s1
      p touch s1 4
      dd if=/dev/zero of="$FOLDER/filler" bs=1k 2>/dev/null || true
      p begin s2
      p prepare s1 7
      p read
      ls "$FOLDER/v" | grep -c partial || true
      p signout
      p read
      ls "$FOLDER/v" | grep -cE 'vault$|partial|corrupt' || true
      rm "$FOLDER/filler"
      p begin s3
      p read
      """, folder: home.path)
    #expect(
      output.split(separator: "\n") == [
        "done 1 s1 []", "done 5 s1 []", "failed full: disk full (writing the vault)",
        "failed full: disk full (writing the vault)", "5 s1 []", "0", "done 6 - [\"s1\"]",
        "6 - [\"s1\"]", "1", "done 7 s3 [\"s1\"]", "7 s3 [\"s1\"]",
      ])
  }

  @Test(
    .enabled("a small disk needs a mount namespace: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `reserves space for a refresh's tokens and a sign-out before it begins a refresh`() async throws {
    let output = try await Namespace.run(
      """
      set -e
      mount -t tmpfs -o size=128k,mode=0700 tmpfs "$FOLDER"
      p() { "$PROBE" "$FOLDER/v" "$@"; }
      p begin s1
      p attempt s1
      dd if=/dev/zero of="$FOLDER/filler" bs=1k 2>/dev/null || true
      p advance s1
      dd if=/dev/zero of="$FOLDER/filler2" bs=1k 2>/dev/null || true
      p touch s1 1
      p read
      rm -f "$FOLDER"/v/*.room
      dd if=/dev/zero of="$FOLDER/filler3" bs=1k 2>/dev/null || true
      p attempt s1 1
      p read
      p signout
      p read
      """, folder: home.path)
    #expect(
      output.split(separator: "\n") == [
        "done 1 s1 []", "done 2 s1 []", "done 3 s1 []", "failed full: disk full (writing the vault)", "3 s1 []",
        "failed full: disk full (writing the reserve for tokens)", "3 s1 []", "done 4 - [\"s1\"]", "4 - [\"s1\"]",
      ])
  }

  @Test(
    .enabled("a disk that comes and goes needs a mount namespace: unshare is not allowed here") {
      await Namespace.isUsable()
    })
  func `that is unmounted for a moment is unavailable, and left unchanged`() async throws {
    let output = try await Namespace.run(
      """
      set -e
      cd "$FOLDER"
      mkdir -m 700 disk place
      mkfifo in out
      mount --bind disk place
      "$PROBE" "$FOLDER/place" lines <in >out &
      exec 3>in 4<out
      ask() { echo "$*" >&3; read -r answer <&4; echo "$answer"; }
      ask begin s1
      umount place
      ask read
      ask begin s2
      ls place
      mount --bind disk place
      ask read
      ask touch s1 1
      """, folder: home.path)
    let vanished = "unavailable: the vault folder is missing; is its disk mounted?"
    #expect(
      output.split(separator: "\n") == ["done 1 s1 []", vanished[...], "failed \(vanished)", "1 s1 []", "done 2 s1 []"])
  }

  @Test(
    .enabled("a small disk needs a mount namespace: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `reports a full disk at the first sign-in, and is absent`() async throws {
    let output = try await Namespace.run(
      """
      mount -t tmpfs -o size=64k,mode=0700 tmpfs "$FOLDER" || exit 1
      p() { "$PROBE" "$FOLDER/v" "$@"; }
      dd if=/dev/zero of="$FOLDER/filler" bs=1k 2>/dev/null
      p begin s1
      p read
      rm "$FOLDER/filler"
      p begin s1
      """, folder: home.path)
    #expect(
      output.split(separator: "\n") == [
        "failed full: disk full (writing vault.key)", "absent", "done 1 s1 []",
      ])
  }

  @Test(
    .enabled("a read-only disk needs a mount namespace: unshare is not allowed here") {
      await Namespace.isUsable()
    })
  func `can be read but not written on a read-only disk`() async throws {
    let output = try await Namespace.run(
      """
      set -e
      mount -t tmpfs -o size=1m,mode=0700 tmpfs "$FOLDER"
      p() { "$PROBE" "$FOLDER/v" "$@"; }
      p begin s1
      p prepare s1 7
      mount -o remount,ro "$FOLDER"
      p read
      p begin s2
      p signout
      p read
      """, folder: home.path)
    #expect(
      output.split(separator: "\n").dropFirst(2) == [
        "2 s1 []", "failed permissions: read-only file system (opening turn.lock)",
        "failed permissions: read-only file system (opening turn.lock)", "2 s1 []",
      ])
  }

  @Test(
    .enabled("needs an unprivileged process: setpriv is missing, or not allowed") { await Unprivileged.isUsable() })
  func `can be read but not written without write permission`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    try await Unprivileged.give(home.path)
    for mode in ["500", "000"] {
      #expect(await Child.succeeds("chmod", mode, home.vaults))
      let reading = try await Unprivileged.probe(home.vaults, "read").end()
      #expect(reading == (mode == "500" ? "1 s1 []" : "permissions: no permission (opening vault)"))
      for command in [["begin", "s2"], ["signout"]] {
        let output = try await Unprivileged.probe([home.vaults] + command).end()
        #expect(output.hasPrefix("failed permissions: no permission"), "\(output)")
      }
      #expect(await Child.succeeds("chmod", "700", home.vaults))
      #expect(try await Unprivileged.probe(home.vaults, "read").end() == "1 s1 []")
    }
  }

  @Test(
    .enabled("needs an unprivileged process: setpriv is missing, or not allowed") { await Unprivileged.isUsable() })
  func `of another user is unavailable, not absent`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    #expect(await Child.succeeds("chmod", "755", home.path, "\(home.path)/state", home.vaults))
    let reading = try await Unprivileged.probe(home.vaults, "read").end()
    #expect(getuid() == 0 ? reading.hasPrefix("permissions: no permission") : reading == "1 s1 []")
  }
}

/// A shell in its own mount namespace, where disks can be mounted invisibly to other processes.
enum Namespace {
  static func isUsable() async -> Bool {
    let script = "d=$(mktemp -d) && mount -t tmpfs tmpfs $d && umount $d && rmdir $d"
    return await Child.succeeds("unshare", flags, "sh", "-c", script)
  }

  private static let flags = getuid() == 0 ? "-m" : "-rm"

  static func run(_ script: String, folder: String) async throws -> String {
    try await Child(
      ["unshare", flags, "sh", "-c", script], environment: ["FOLDER": folder, "PROBE": Child.probe]
    ).end()
  }
}

/// The probe as a user who is subject to permissions: `nobody` when run by root, otherwise the current user.
enum Unprivileged {
  private static let prefix =
    getuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

  /// Without arguments, the probe exits with 64; if it cannot be started, with another status.
  static func isUsable() async -> Bool {
    guard let child = try? Child(prefix + [Child.probe]), (try? await child.end()) != nil else { return false }
    return child.status == 64
  }

  static func give(_ folder: String) async throws {
    if getuid() == 0 { #expect(await Child.succeeds("chown", "-R", "65534:65534", folder)) }
  }

  static func probe(_ arguments: String...) throws -> Child { try probe(arguments) }
  static func probe(_ arguments: [String]) throws -> Child { try Child(prefix + [Child.probe] + arguments) }
}
