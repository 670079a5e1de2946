#if os(Linux)
import Foundation

/// A user's home folders with a keyring. Removed with the last reference.
final class SecretHome: Sendable {
  private let path: String
  var vaults: String { path + "/vaults" }

  /// The program `SecretProbe`, built beside the tests.
  private static let probe = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("SecretProbe").path

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/handstamp-secrets-\(UUID().uuidString)"
    for folder in ["", "/run", "/home"] {
      try FileManager.default.createDirectory(
        atPath: path + folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func vaultBytes() throws -> Data {
    let names = try FileManager.default.contentsOfDirectory(atPath: vaults).filter { $0.hasSuffix(".vault") }
    return try names.reduce(into: Data()) { $0 += try Data(contentsOf: URL(fileURLWithPath: "\(vaults)/\($1)")) }
  }

  /// Runs a script in a session of its own, and returns the lines that it prints. It knows `open` (an unlocked keyring),
  /// `start` (a locked one) and `probe`.
  func run(_ script: String) async throws -> [String] {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sh", "-c", SecretHome.prelude + script]
    process.environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": path + "/home", "XDG_RUNTIME_DIR": path + "/run",
      "PROBE": SecretHome.probe, "VAULTS": vaults, "LC_ALL": "C",
      // No prompt may appear on a display of this machine.
      "DISPLAY": "", "WAYLAND_DISPLAY": "",
    ]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        continuation.resume(
          returning: String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
      }
    }
  }

  /// The daemons' own output is discarded, so that the script's output ends with the script. A daemon is ready once its name is
  /// on the bus and, after `open`, the keyring is unlocked, which it becomes later. They are killed with SIGKILL, because they inherit blocked signals and would survive SIGTERM.
  private static let prelude = """
    trap 'kill -9 $BUS $KEYRING' EXIT
    mkfifo "$XDG_RUNTIME_DIR/address" 2>/dev/null
    dbus-daemon --session --nofork --nopidfile --print-address=1 </dev/null >"$XDG_RUNTIME_DIR/address" 2>/dev/null &
    BUS=$!
    read -r DBUS_SESSION_BUS_ADDRESS <"$XDG_RUNTIME_DIR/address"
    export DBUS_SESSION_BUS_ADDRESS
    ready() { gdbus wait --session --timeout 240 org.freedesktop.secrets </dev/null >/dev/null 2>&1; }
    open() {
      printf 'the keyring password' | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null 2>&1 &
      KEYRING=$!
      ready
      end=$(($(date +%s) + 240))
      until unlocked || [ "$(date +%s)" -ge $end ]; do :; done
    }
    unlocked() {
      gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets/aliases/default \
        --method org.freedesktop.DBus.Properties.Get org.freedesktop.Secret.Collection Locked </dev/null 2>/dev/null | grep -q false
    }
    start() {
      gnome-keyring-daemon --foreground --start --components=secrets </dev/null >/dev/null 2>&1 &
      KEYRING=$!
      ready
    }
    probe() { "$PROBE" app "$VAULTS" "${LIMIT:-20000}" "$@"; }

    """
}
#endif
