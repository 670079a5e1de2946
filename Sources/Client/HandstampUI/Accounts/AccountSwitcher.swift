#if canImport(SwiftUI)
import Handstamp
public import SwiftUI

/// The accounts on this device, with switching, removing, and a button to add one.
public struct AccountSwitcher: View {
  @State private var model: AccountSwitcherModel
  @State private var leaving: ListedAccount?
  @State private var isLeaving = false
  private let add: @MainActor () -> Void

  /// - Parameters:
  ///   - service: The app's `Accounts`.
  ///   - add: Shows the sign-in for another account.
  public init(_ service: any AccountsService, add: @escaping @MainActor () -> Void) {
    _model = State(initialValue: AccountSwitcherModel(service))
    self.add = add
  }

  public var body: some View {
    List {
      if let failure = model.failure { FailureRow(failure) }
      Section {
        switch model.state {
        case .loading: ProgressView()
        case .failed(let wording): FailureRow(wording)
        case .empty: Text(verbatim: Word.noAccounts.text).foregroundStyle(.secondary)
        case .accounts: ForEach(model.accounts, id: \.id) { account in row(account) }
        }
      }
      Section { Button(Word.addAccount.text, action: add) }
    }
    .navigationTitle(Text(verbatim: Word.accounts.text))
    .confirmationDialog(
      Text(verbatim: Word.removeAccountQuestion.text), isPresented: $isLeaving, titleVisibility: .visible,
      presenting: leaving
    ) { account in
      Button(Word.removeAccount.text, role: .destructive) { Task { await model.remove(account) } }
    }
  }

  private func row(_ account: ListedAccount) -> some View {
    HStack {
      Button {
        Task { await model.activate(account) }
      } label: {
        HStack {
          VStack(alignment: .leading) {
            Text(verbatim: account.name)
            if let tag = account.tag { Text(verbatim: tag).font(.footnote).foregroundStyle(.secondary) }
          }
          Spacer()
          if model.isActive(account) { Image(systemName: "checkmark").accessibilityHidden(true) }
        }
      }
      .buttonStyle(.borderless)
      .accessibilityElement(children: .combine)
      .accessibilityValue(Text(verbatim: model.isActive(account) ? Word.activeAccount.text : ""))
      Button(Word.removeAccount.text, role: .destructive) { (leaving, isLeaving) = (account, true) }
        .buttonStyle(.borderless)
        .accessibilityLabel(Text(verbatim: "\(Word.removeAccount.text): \(account.name)"))
    }
    .disabled(model.busy.contains(account.id))
  }
}

#if DEBUG
private final class PreviewAccounts: AccountsService {
  var accounts = ["Ada", "Bob"].map {
    ListedAccount(id: AccountID($0), name: $0, addedAt: UnixTime(milliseconds: 0))
  }
  var activeID: AccountID? = AccountID("Ada")
  var isLoaded: Bool { true }
  var storageError: VaultError? { nil }
  func activate(_ id: AccountID) async throws(SessionError) { activeID = id }
  func removeAccount(_ id: AccountID) async throws(SessionError) { accounts.removeAll { $0.id == id } }
}

struct AccountSwitcher_Previews: PreviewProvider {
  static var previews: some View { AccountSwitcher(PreviewAccounts()) {} }
}
#endif
#endif
