#if canImport(SwiftUI)
import Handstamp
import HandstampCore
public import SwiftUI

#if canImport(UIKit)
import UIKit
#endif

/// Sign-in, sign-up and its confirmation, password reset, guest access, Sign in with Apple and passkeys.
public struct AuthView: View {
  @State private var model: AuthViewModel
  private let allowsGuests: Bool

  /// - Parameters:
  ///   - service: The app's `SessionManager`, or its `Accounts`: then each sign-in adds an account, or signs in to a listed one
  ///     again, and makes it the active one.
  ///   - apple: Shows Apple's sheet, such as `AppleSheet()`; `nil` hides the button.
  ///   - passkeys: The device's passkeys, such as `PasskeySheet()`: a button, an offer above the keyboard, and a new passkey after
  ///     a sign-in with a password, where the password manager makes one by itself. `nil` for none.
  ///   - allowsGuests: Whether to show a button for guests.
  ///   - onSignIn: Called when a user has signed in, such as to close a sheet.
  public init(
    _ service: any AuthService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil,
    allowsGuests: Bool = false, onSignIn: (@MainActor () -> Void)? = nil
  ) {
    let model = AuthViewModel(service, apple: apple, passkeys: passkeys)
    model.onSignIn = onSignIn
    self.init(model, allowsGuests: allowsGuests)
  }

  /// Creates the view with the app's own model, such as one with the email address filled in.
  public init(_ model: AuthViewModel, allowsGuests: Bool = false) {
    _model = State(initialValue: model)
    self.allowsGuests = allowsGuests
  }

  public var body: some View {
    Form {
      Section { fields }
      if let failure = model.failure {
        Section {
          FailureRow(failure.wording)
          if let remedy = failure.remedy {
            Button(remedy.word.text) { model.recover() }
          }
        }
      }
      if let notice = model.notice {
        Section { Label(notice.wording.text, systemImage: "envelope") }
      }
      Section { actions }
      Section { links }
    }
    .onAppear { model.offerPasskeys() }
    .onDisappear { model.cancel() }
  }

  @ViewBuilder private var fields: some View {
    if model.form == .confirm {
      TextField(Word.code.text, text: $model.code)
        .autocorrectionDisabled()
    } else {
      TextField(Word.email.text, text: $model.email)
        .autocorrectionDisabled()
        .addressKeyboard()
    }
    if model.form == .signUp {
      TextField(Word.username.text, text: $model.username)
    }
    if model.form != .reset {
      SecureField(Word.password.text, text: $model.password)
        .passwordContent(isNew: model.form != .signIn)
        .onSubmit { model.submit() }
      Toggle(Word.remember.text, isOn: $model.remembers)
    }
  }

  @ViewBuilder private var actions: some View {
    Button {
      model.submit()
    } label: {
      WorkingLabel(submitWord, isWorking: model.running == .submit)
    }
    .disabled(!model.canSubmit)
    if model.offersApple, isSignInOrUp {
      Button {
        model.signInWithApple()
      } label: {
        WorkingLabel(.appleSignIn, systemImage: "apple.logo", isWorking: model.running == .apple)
      }
      .disabled(model.isWorking)
    }
    if model.offersPasskeys, model.form == .signIn {
      Button {
        model.signInWithPasskey()
      } label: {
        WorkingLabel(.passkeySignIn, systemImage: "person.badge.key", isWorking: model.running == .passkey)
      }
      .disabled(model.isWorking)
    }
    if allowsGuests, isSignInOrUp {
      Button {
        model.continueAsGuest()
      } label: {
        WorkingLabel(.guest, isWorking: model.running == .guest)
      }
      .disabled(model.isWorking)
    }
    if model.isWorking {
      Button(Word.cancel.text, role: .cancel) {
        model.cancel()
        model.offerPasskeys()
      }
    }
  }

  @ViewBuilder private var links: some View {
    switch model.form {
    case .signIn:
      Button(Word.noAccount.text) { model.form = .signUp }
      Button(Word.forgotPassword.text) { model.form = .reset }
    case .signUp, .confirm, .reset:
      Button(Word.haveAccount.text) { model.form = .signIn }
    }
  }

  private var isSignInOrUp: Bool { model.form == .signIn || model.form == .signUp }

  private var submitWord: Word {
    switch model.form {
    case .signIn: .signIn
    case .signUp: .signUp
    case .confirm: .confirm
    case .reset: .sendReset
    }
  }
}

/// A button's text with a progress indicator, which VoiceOver announces as well.
private struct WorkingLabel: View {
  private let word: Word
  private let systemImage: String?
  private let isWorking: Bool

  init(_ word: Word, systemImage: String? = nil, isWorking: Bool) {
    self.word = word
    self.systemImage = systemImage
    self.isWorking = isWorking
  }

  var body: some View {
    HStack {
      if let systemImage {
        Label(word.text, systemImage: systemImage)
      } else {
        Text(verbatim: word.text)
      }
      if isWorking { ProgressView() }
    }
    .accessibilityElement(children: .combine)
    .accessibilityLabel(Text(verbatim: word.text))
    .accessibilityValue(Text(verbatim: isWorking ? Word.working.text : ""))
  }
}

extension View {
  /// Uses the keyboard for email addresses, where there is one.
  @ViewBuilder fileprivate func addressKeyboard() -> some View {
    #if canImport(UIKit) && !os(watchOS)
    keyboardType(.emailAddress).textInputAutocapitalization(.never).textContentType(.username)
    #else
    self
    #endif
  }

  /// Enables the system's password manager.
  @ViewBuilder fileprivate func passwordContent(isNew: Bool) -> some View {
    #if canImport(UIKit) && !os(watchOS)
    textContentType(isNew ? .newPassword : .password)
    #else
    self
    #endif
  }
}

#if DEBUG
struct AuthView_Previews: PreviewProvider {
  static var previews: some View {
    AuthView(SessionManager.preview(signedInAs: nil, content: ()), allowsGuests: true).previewDisplayName("Sign in")
    AuthView(form(.signUp)).previewDisplayName("Sign up")
    AuthView(form(.confirm)).previewDisplayName("Confirm")
    AuthView(form(.reset)).previewDisplayName("Reset")
  }

  private static func form(_ form: AuthViewModel.Form) -> AuthViewModel {
    let model = AuthViewModel(SessionManager.preview(signedInAs: nil, content: ()))
    model.form = form
    model.email = "ada@example.org"
    return model
  }
}
#endif
#endif
