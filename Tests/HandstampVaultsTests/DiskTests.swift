import Foundation
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@Suite(.serialized) struct `A vault on a bad disk` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test(
    .enabled("a mount namespace is needed for a small disk: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `keeps what it has when the disk is full, lets a sign-out through, and goes on when there is room`() async throws
  {
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
        "done 1 s1 []", "done 5 s1 []", "failed unavailable: disk full (writing the vault)",
        "failed unavailable: disk full (writing the vault)", "5 s1 []", "0", "done 6 - [\"s1\"]",
        "6 - [\"s1\"]", "1", "done 7 s3 [\"s1\"]", "7 s3 [\"s1\"]",
      ])
  }

  @Test(
    .enabled("a mount namespace is needed for a small disk: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `has room for the answer to a refresh, and for the sign-out after it, and begins none without`() async throws {
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
        "done 1 s1 []", "done 2 s1 []", "done 3 s1 []", "failed unavailable: disk full (writing the vault)", "3 s1 []",
        "failed unavailable: disk full (keeping room for tokens)", "3 s1 []", "done 4 - [\"s1\"]", "4 - [\"s1\"]",
      ])
  }

  @Test(
    .enabled("a mount namespace is needed for a disk that comes and goes: unshare is not allowed here") {
      await Namespace.isUsable()
    })
  func `that is unmounted for a moment is unavailable, and left as it is`() async throws {
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
    let vanished = "unavailable: the vault's folder has vanished; is its disk mounted?"
    #expect(
      output.split(separator: "\n") == ["done 1 s1 []", vanished[...], "failed \(vanished)", "1 s1 []", "done 2 s1 []"])
  }

  @Test(
    .enabled("a mount namespace is needed for a small disk: unshare is not allowed here") { await Namespace.isUsable() }
  )
  func `says so when the disk is full before the first sign-in, and is absent`() async throws {
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
        "failed unavailable: disk full (writing vault.key)", "absent", "done 1 s1 []",
      ])
  }

  @Test(
    .enabled("a mount namespace is needed for a read-only disk: unshare is not allowed here") {
      await Namespace.isUsable()
    })
  func `reads and does not write on a read-only disk`() async throws {
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
        "2 s1 []", "failed unavailable: read-only file system (opening turn.lock)",
        "failed unavailable: read-only file system (opening turn.lock)", "2 s1 []",
      ])
  }

  @Test(
    .enabled("an unprivileged process is needed: setpriv is missing, or not allowed") { await Unprivileged.isUsable() })
  func `reads and does not write where its user may not`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    try await Unprivileged.give(home.path)
    for mode in ["500", "000"] {
      #expect(await Child.succeeds("chmod", mode, home.vaults))
      let reading = try await Unprivileged.probe(home.vaults, "read").end()
      #expect(reading == (mode == "500" ? "1 s1 []" : "unavailable: no permission (opening vault)"))
      for command in [["begin", "s2"], ["signout"]] {
        let output = try await Unprivileged.probe([home.vaults] + command).end()
        #expect(output.hasPrefix("failed unavailable: no permission"), "\(output)")
      }
      #expect(await Child.succeeds("chmod", "700", home.vaults))
      #expect(try await Unprivileged.probe(home.vaults, "read").end() == "1 s1 []")
    }
  }

  @Test(
    .enabled("an unprivileged process is needed: setpriv is missing, or not allowed") { await Unprivileged.isUsable() })
  func `of somebody else is unavailable, not absent`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    #expect(await Child.succeeds("chmod", "755", home.path, "\(home.path)/state", home.vaults))
    let reading = try await Unprivileged.probe(home.vaults, "read").end()
    #expect(getuid() == 0 ? reading.hasPrefix("unavailable: no permission") : reading == "1 s1 []")
  }
}

/// A shell in a mount namespace of its own, where disks can be mounted that nobody else sees.
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

/// The probe as a user for whom permissions count: root's own user is `nobody`, anybody else is himself.
enum Unprivileged {
  private static let prefix =
    getuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

  /// Without arguments the probe ends with 64; when it could not be started, with something else.
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
