#if canImport(SwiftUI)
public import Foundation
import Handstamp
public import SwiftUI

/// Deletes the account, after the proof that the server asks for. When the account is gone, so is the session: the app's guard shows the
/// sign-in.
public struct DeleteAccountView: View {
  private let form: OwnerForm

  /// - Parameters:
  ///   - service: The app's `SessionManager`.
  ///   - apple: Shows Apple's sheet, such as `AppleSheet()`.
  ///   - passkeys: The device's passkeys, such as `PasskeySheet()`.
  ///   - page: The server's page for what cannot be proved here, such as `https://id.example.org/account`.
  public init(
    _ service: any OwnerService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil,
    page: URL? = nil
  ) {
    form = OwnerForm(model: OwnerModel(.deletion, of: service, apple: apple, passkeys: passkeys), page: page)
  }

  public var body: some View { form }
}

/// Changes the account's password, or sets its first one, after the proof that the server asks for.
public struct ChangePasswordView: View {
  private let form: OwnerForm

  /// The parameters are those of ``DeleteAccountView``.
  public init(
    _ service: any OwnerService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil,
    page: URL? = nil
  ) {
    form = OwnerForm(model: OwnerModel(.passwordChange, of: service, apple: apple, passkeys: passkeys), page: page)
  }

  public var body: some View { form }
}

private struct OwnerForm: View {
  @State private var model: OwnerModel
  private let page: URL?

  init(model: OwnerModel, page: URL?) {
    _model = State(initialValue: model)
    self.page = page
  }

  var body: some View {
    Form {
      if model.purpose == .deletion { Section { Text(verbatim: Word.deleteQuestion.text) } }
      Section { fields }
      if let failure = model.failure { Section { FailureRow(failure) } }
      if model.isDone { Section { Text(verbatim: Word.done.text) } }
      Section {
        Button(submitWord.text, role: model.purpose == .deletion ? .destructive : nil) {
          Task { await model.submit() }
        }
        .disabled(!model.canSubmit)
        if model.isWorking { ProgressView() }
      }
    }
    .task { await model.load() }
  }

  @ViewBuilder private var fields: some View {
    if model.kinds.count > 1 {
      Picker(Word.proof.text, selection: $model.kind) {
        ForEach(model.kinds, id: \.self) { kind in Text(verbatim: kind.word.text).tag(Optional(kind)) }
      }
    }
    switch model.kind {
    case .password?: SecureField(Word.password.text, text: $model.password)
    case .passwordAndCode?:
      SecureField(Word.password.text, text: $model.password)
      TextField(Word.code.text, text: $model.code).codeContent()
    case .mailedCode?:
      // It has letters, too.
      if model.isMailed { TextField(Word.code.text, text: $model.code).autocorrectionDisabled() }
      Button(Word.mailCode.text) { Task { await model.mail() } }
    case .passkey?, .apple?, nil: EmptyView()
    case .page?: if let page { Link(Word.openPage.text, destination: page) }
    @unknown default: EmptyView()
    }
    if model.purpose == .passwordChange, model.kind != .page {
      SecureField(Word.newPassword.text, text: $model.newPassword)
      Toggle(Word.endOthers.text, isOn: $model.endsOthers)
    }
  }

  private var submitWord: Word { model.purpose == .deletion ? .deleteAccount : .changePassword }
}

extension Proof.Kind {
  fileprivate var word: Word {
    switch self {
    case .password, .passwordAndCode: .password
    case .passkey: .passkeySignIn
    case .apple: .appleSignIn
    case .mailedCode: .mailCode
    case .page: .openPage
    @unknown default: .openPage
    }
  }
}
#endif
