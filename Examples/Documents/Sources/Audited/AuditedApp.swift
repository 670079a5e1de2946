// An app whose sign-ins are audited, with an end by inactivity and biometry.
//
// A sign-up, a sign-in and one by biometry take the same order: keychain, session, views, audit log, timer.
// Views that observe an `ObservableObject` see session and flag change together, and never during an update.
// A failed attempt leaves the form usable.
// Fifteen minutes without a touch end the session; the guard says so a minute before.
// The log names who signed in, how and when, and shows whether it was changed.
//
// On Linux it runs at a server that `scripts/dev server` starts, with an account for ada@example.org:
// swift run --package-path Examples/Documents Audited http://localhost:8080
import Foundation
import Handstamp

#if canImport(SwiftUI)
import HandstampUI
import SwiftUI
#endif

nonisolated let program = "org.example.audited"

nonisolated struct Me: Decodable {
  let name: String
}

func makeSession(_ url: URL, _ log: FileAuditLog, presence: PresenceLock? = nil) -> SessionManager<Me> {
  SessionManager(server: url, name: program, policy: .highSecurity, audit: log, presence: presence) { api in
    try await api.get("/v1/me", as: Me.self)
  }
}

/// The newest first, also those that failed.
func lastSignIns(_ session: SessionManager<Me>, in log: FileAuditLog) async throws(VaultError) -> [AuditRecord] {
  await session.controller.flushAuditLog()
  return try await log.entries().reversed().filter {
    if case .signIn = $0.entry.action { true } else { false }
  }
}

func words(_ record: AuditRecord) -> String {
  guard case .signIn(let method) = record.entry.action else { return "" }
  let outcome = record.entry.outcome == "ok" ? "" : ": \(record.entry.outcome)"
  return "\(record.isIntact ? "" : "(?) ")\(record.entry.account?.rawValue ?? record.entry.address ?? "unknown")"
    + ", \(method.rawValue)\(outcome)"
}

#if canImport(SwiftUI)
let log = FileAuditLog.standard(program)
let presence = PresenceLock(DevicePresence(), policy: .window(.seconds(300)), reason: "to show your records")

@main struct AuditedApp: App {
  @StateObject private var session = ObservableSession(
    makeSession(URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/"), log, presence: presence))

  var body: some Scene {
    WindowGroup { RootView().environmentObject(session) }
  }
}

struct RootView: View {
  @EnvironmentObject private var session: ObservableSession<Me>

  var body: some View {
    AuthGuardView(session.session, lock: presence) { me in
      NavigationStack {
        LastSignInsView()
        Button("Sign Out") { Task { await session.session.signOut() } }.disabled(session.isWorking)
      }
      .navigationTitle(Text(verbatim: me.name))
    } signedOut: {
      AuthView(session.session, biometric: BiometricSecret(service: program))
    }
  }
}

struct LastSignInsView: View {
  @EnvironmentObject private var session: ObservableSession<Me>
  @State private var signIns: [AuditRecord] = []
  @State private var export: String?
  @State private var problem: String?

  var body: some View {
    List {
      if let problem { Text(verbatim: problem) }
      ForEach(signIns, id: \.sequence) { record in
        Text(verbatim: words(record))
        Text(record.entry.at.date, style: .relative).foregroundStyle(.secondary)
      }
      if let export { ShareLink(item: export) }
    }
    .task {
      do {
        signIns = try await lastSignIns(session.session, in: log)
        problem = try await log.verify().isIntact ? nil : "The log was changed. Rely only on what is not marked."
        export = try await log.export()
      } catch { problem = Wording(error)?.text }
    }
  }
}
#else
@main struct Audited {
  static func main() async throws {
    guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else { return }
    let log = FileAuditLog.standard(program)
    let session = makeSession(url, log)
    do { try await session.signIn(email: "ada@example.org", password: "wrong horse") } catch {
      let step = error.recovery.map { "\($0)" } ?? "none"
      print("\(error), next step: \(step)")
      print("\(error.code), working: \(session.snapshot.isWorking)")  // wrong_credentials, working: false
    }
    try await session.signIn(email: "ada@example.org", password: "correct horse")
    session.updateSessionActivity()  // as the guard does for each touch
    await session.signOut()
    for record in try await lastSignIns(session, in: log) {
      print(words(record))  // ada@example.org, password: wrong_credentials
    }
    print("log intact: \(try await log.verify().isIntact)")  // log intact: true
    _ = await session.controller.waitForRevocations(timeout: .seconds(10))
  }
}
#endif
