#if Programs
#if os(Linux)
import Foundation

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A real gnome-keyring on its own bus, with temporary user folders.
// Unchecked: used by one test, which awaits each call.
final class Keyring: @unchecked Sendable {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())
  /// The environment that a program needs to find it.
  private(set) var variables: [String: String] = [:]

  init(in folder: String) async throws {
    for name in ["/person", "/runtime"] {
      try FileManager.default.createDirectory(
        atPath: folder + name, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sh", "-c", Keyring.script]
    process.environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder + "/person", "XDG_RUNTIME_DIR": folder + "/runtime",
      "LC_ALL": "C", "DISPLAY": "", "WAYLAND_DISPLAY": "",
    ]
    (process.standardInput, process.standardOutput) = (input, output)
    try Child.withUsualSignals { [process] in try process.run() }
    variables = ["DBUS_SESSION_BUS_ADDRESS": try await line(), "XDG_RUNTIME_DIR": folder + "/runtime"]
  }

  /// Closing its input ends the script, which kills the processes it started.
  deinit { try? input.fileHandleForWriting.close() }

  /// Starts a keyring that is unlocked with its password.
  func open() async throws { try await say("open") }

  /// Restarts the keyring without unlocking it.
  func restart() async throws { try await say("cold") }

  /// Returns the number of vault keys in it.
  func keys() async throws -> Int {
    try input.fileHandleForWriting.write(contentsOf: Data("count\n".utf8))
    return Int(try await line()) ?? -1
  }

  private func say(_ word: String) async throws {
    try input.fileHandleForWriting.write(contentsOf: Data((word + "\n").utf8))
    guard try await line() == "done" else { throw TourFailure("the keyring does not \(word)") }
  }

  private func line() async throws -> String {
    let text = await withCheckedContinuation { continuation in
      Thread.detachNewThread { [output] in
        var text = Data()
        while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data([10]) {
          text += byte
        }
        continuation.resume(returning: String(decoding: text, as: UTF8.self))
      }
    }
    if text.isEmpty { throw TourFailure("the keyring's script ended") }
    return text
  }

  private static let script = """
    trap 'kill -9 $BUS $KEYRING 2>/dev/null' EXIT
    mkfifo "$XDG_RUNTIME_DIR/address"
    dbus-daemon --session --nofork --nopidfile --print-address=1 </dev/null >"$XDG_RUNTIME_DIR/address" 2>/dev/null &
    BUS=$!
    read -r DBUS_SESSION_BUS_ADDRESS <"$XDG_RUNTIME_DIR/address"
    export DBUS_SESSION_BUS_ADDRESS
    echo "$DBUS_SESSION_BUS_ADDRESS"
    owned() {
      gdbus call --session --dest org.freedesktop.DBus --object-path / \\
        --method org.freedesktop.DBus.NameHasOwner org.freedesktop.secrets 2>/dev/null | grep -q true
    }
    ready() { gdbus wait --session --timeout 240 org.freedesktop.secrets </dev/null >/dev/null 2>&1; }
    # It is unlocked a moment after its name is on the bus.
    unlocked() {
      gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets/aliases/default \\
        --method org.freedesktop.DBus.Properties.Get org.freedesktop.Secret.Collection Locked </dev/null 2>/dev/null | grep -q false
    }
    while read -r word; do
      if [ "$word" != count ] && [ -n "$KEYRING" ]; then kill -9 "$KEYRING"; wait "$KEYRING" 2>/dev/null; while owned; do :; done; fi
      case $word in
      open)
        printf 'the keyring password' | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null 2>&1 &
        KEYRING=$!; end=$(($(date +%s) + 240))
        ready && until unlocked || [ "$(date +%s)" -ge $end ]; do :; done; unlocked && echo done ;;
      cold)
        gnome-keyring-daemon --foreground --start --components=secrets </dev/null >/dev/null 2>&1 &
        KEYRING=$!; ready && echo done ;;
      count) secret-tool search --all --unlock xdg:schema org.handstamp.VaultKey 2>/dev/null | grep -c '^secret = ' ;;
      esac
    done
    """
}
#endif
#endif
