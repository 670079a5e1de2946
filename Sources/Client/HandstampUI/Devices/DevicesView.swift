#if canImport(SwiftUI)
import Foundation
import Handstamp
public import SwiftUI

/// A live list of the devices signed in to the account. Users can sign out one of them, or all others at once.
///
/// The group that contains this device, see ``DevicesModel/groups``, has no button: its other sign-ins end only with all others.
public struct DevicesView: View {
  @State private var model: DevicesModel
  @State private var asksForOthers = false
  @State private var password = ""
  @State private var code = ""

  public init(_ service: any DevicesService) { _model = State(initialValue: DevicesModel(service)) }

  public var body: some View {
    List {
      if let failure = model.failure {
        Section {
          FailureRow(failure)
          Button(Word.tryAgain.text) { Task { await model.load() } }
        }
      }
      Section {
        ForEach(model.groups, id: \.first?.id) { group in
          if let first = group.first {
            if group.count > 1 { rows(first, of: group) } else { row(first, of: group) }
          }
        }
        if !model.isLoaded, model.failure == nil { ProgressView() }
      }
      if model.isLoaded {
        Section {
          if model.others.isEmpty {
            Text(verbatim: Word.noOtherDevices.text).foregroundStyle(.secondary)
          } else {
            Button(Word.endOthers.text, role: .destructive) { asksForOthers = true }
              .disabled(!model.canEndOthers)
          }
        }
      }
    }
    .navigationTitle(Text(verbatim: Word.devices.text))
    .task { await model.follow() }
    .refreshable { await model.load() }
    .confirmationDialog(
      Text(verbatim: Word.endOthersQuestion.text), isPresented: $asksForOthers, titleVisibility: .visible
    ) {
      Button(Word.endOthers.text, role: .destructive) { Task { await model.endOthers() } }
    }
    .alert(Text(verbatim: Word.passwordToEnd.text), isPresented: asksForPassword) {
      SecureField(Word.password.text, text: $password)
      if model.needsCode { TextField(Word.code.text, text: $code).codeContent() }
      Button(Word.endSession.text, role: .destructive) {
        let typed = (password: password, code: code)
        (password, code) = ("", "")
        Task { await model.confirm(password: typed.password, code: typed.code) }
      }
      .disabled(model.needsCode && code.typedCode == nil)
      Button(Word.cancel.text, role: .cancel) {
        (password, code) = ("", "")
        model.dismissPassword()
      }
    }
  }

  private var asksForPassword: Binding<Bool> {
    // The buttons decide: one of them has yet to use what was refused.
    Binding(get: { model.needsPassword }, set: { _ in })
  }

  /// The row of a group, and below it those of its members, each of which can be signed out alone.
  @ViewBuilder private func rows(_ first: DeviceSession, of group: [DeviceSession]) -> some View {
    #if os(tvOS) || os(watchOS)
    row(first, of: group)
    members(group)
    #else
    DisclosureGroup {
      members(group)
    } label: {
      row(first, of: group)
    }
    #endif
  }

  private func members(_ group: [DeviceSession]) -> some View {
    ForEach(group, id: \.id) { row($0, of: [$0]) }
  }

  private func row(_ device: DeviceSession, of group: [DeviceSession]) -> some View {
    let name = group.count > 1 ? "\(device.name) (\(group.count))" : device.name
    return HStack {
      VStack(alignment: .leading) {
        Label(name, systemImage: symbol(device.platform))
        if device.isCurrent {
          Text(verbatim: Word.thisDevice.text).font(.footnote).foregroundStyle(.secondary)
        } else {
          HStack {
            Text(verbatim: Word.lastSeen.text)
            Text(device.lastSeenAt.date, style: .relative)
          }
          .font(.footnote)
          .foregroundStyle(.secondary)
        }
      }
      .accessibilityElement(children: .combine)
      Spacer()
      if !group.contains(where: \.isCurrent) {
        Button(Word.endSession.text, role: .destructive) { Task { await model.end(group) } }
          .buttonStyle(.borderless)
          .disabled(!group.allSatisfy { model.canEnd($0) })
          .accessibilityLabel(Text(verbatim: "\(Word.endSession.text): \(name)"))
      }
    }
  }

  private func symbol(_ platform: String) -> String {
    switch platform {
    case "iOS": "iphone"
    case "tvOS": "appletv"
    case "watchOS": "applewatch"
    case "macOS": "desktopcomputer"
    default: "terminal"
    }
  }
}

#if DEBUG
private struct PreviewDevices: DevicesService {
  @concurrent func devices() async throws(SessionError) -> [DeviceSession] {
    ["Ada's iPhone", "Ada's Mac"].enumerated().map { number, name in
      DeviceSession(
        id: SessionID(name), isCurrent: number == 0, name: name, platform: number == 0 ? "iOS" : "macOS",
        startedAt: UnixTime(milliseconds: 1_790_000_000_000),
        lastSeenAt: UnixTime(milliseconds: 1_790_000_000_000))
    }
  }
  @concurrent func end(_ session: SessionID) async throws(SessionError) {
    throw .requestFailed(.network(.timedOut))
  }
  @concurrent func endOthers() async throws(SessionError) {}
}

struct DevicesView_Previews: PreviewProvider {
  static var previews: some View { DevicesView(PreviewDevices()) }
}
#endif
#endif
