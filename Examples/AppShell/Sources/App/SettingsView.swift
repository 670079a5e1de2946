import Handstamp
import HandstampUI
import SwiftUI

/// Signs out, with a choice of what to erase.
struct SettingsView: View {
  @Environment(Session.self) private var session
  @State private var erasesDownloads = false
  @State private var erasesDatabase = false
  @State private var isAsking = false
  @State private var problem: String?

  var body: some View {
    Form {
      Section {
        Toggle("Remove Downloads", isOn: $erasesDownloads)
        Toggle("Remove Messages on This Device", isOn: $erasesDatabase)
        Button("Sign Out", role: .destructive) { Task { await signOut() } }
        Button("Sign Out Everywhere", role: .destructive) { isAsking = true }
      }
      .disabled(session.snapshot.isWorking)
      if let problem { Section { Text(verbatim: problem) } }
    }
    .navigationTitle(Text(verbatim: "Settings"))
    .confirmationDialog(
      Text(verbatim: "Sign out on all devices?"), isPresented: $isAsking, titleVisibility: .visible
    ) {
      Button("Sign Out Everywhere", role: .destructive) { Task { await signOutEverywhere() } }
    }
  }

  private var plan: SignOutPlan {
    var plan = SignOutPlan.standard
    if erasesDownloads { plan = plan.erasing(.downloads) }
    if erasesDatabase { plan = plan.erasing(.database) }
    return plan
  }

  private func signOut() async { show(await session.signOut(plan)) }
  private func signOutEverywhere() async { show(await session.signOutEverywhere(plan)) }

  /// The sign-out has succeeded locally in any case; the report lists what failed.
  private func show(_ report: SignOutReport) {
    problem = report.otherSessionsError.flatMap { Wording($0)?.text }
  }
}
