#if canImport(SwiftUI)
import Foundation
public import Handstamp
public import SwiftUI

#if canImport(UIKit)
import AuthenticationServices
import UIKit
#endif

/// Sign-in, also with a second factor or on the server's page, sign-up and its confirmation, password reset, guest access, Sign in with
/// Apple and passkeys. What is shown follows from the backend. A guest sees the sign-up first.
public struct AuthView: View {
  @State private var model: AuthViewModel
  private let allowsGuests: Bool

  /// - Parameters:
  ///   - service: The app's `SessionManager`, or its `Accounts`: then each sign-in adds an account, or signs in to a listed one
  ///     again, and makes it the active one.
  ///   - apple: Shows Apple's sheet, such as `AppleSheet()`; `nil` hides the button.
  ///   - passkeys: The device's passkeys, such as `PasskeySheet()`: a button, an offer above the keyboard, and a new passkey after
  ///     a sign-in with a password, where the password manager makes one by itself. `nil` for none.
  ///   - page: The way to the server's own page, such as `BrowserPage(WebSignIn(), redirectURI: "org.example.app:/back")`, for a backend
  ///     that has one. `nil` hides the button.
  ///   - biometric: Where the device keeps the password of a user who wants to sign in by biometry, such as
  ///     `BiometricSecret(service: "org.example.app")`. `nil` hides button and toggle.
  ///   - allowsGuests: Whether to show a button for guests.
  ///   - onSignIn: Called when a user has signed in, such as to close a sheet.
  public init(
    _ service: any AuthService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil,
    page: BrowserPage? = nil, biometric: BiometricSecret? = nil, allowsGuests: Bool = false,
    onSignIn: (@MainActor () -> Void)? = nil
  ) {
    let model = AuthViewModel(service, apple: apple, passkeys: passkeys, page: page, biometric: biometric)
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
      if model.offered.identifier != nil { Section { fields } }
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
      if let question = model.question {
        Section {
          Text(verbatim: question.wording.text)
          Button(Word.signInThere.text) { model.signInThere() }
          Button(Word.stayGuest.text, role: .cancel) { model.stayGuest() }
        }
      } else {
        Section { actions }
        if model.offered.accounts { Section { links } }
      }
    }
    .task { await model.findBiometric() }
    .onAppear { model.offerPasskeys() }
    .onDisappear { model.cancel() }
  }

  @ViewBuilder private var fields: some View {
    switch model.form {
    case .confirm:
      TextField(Word.code.text, text: $model.code)
        .autocorrectionDisabled()
    case .secondFactor:
      Text(verbatim: Word.codeOfApp.text)
      TextField(Word.code.text, text: $model.code)
        .autocorrectionDisabled()
        .codeContent()
        .onSubmit { model.submit() }
    case .signIn, .signUp, .reset:
      TextField((model.offered.identifier == .email ? Word.email : .username).text, text: $model.email)
        .autocorrectionDisabled()
        .addressKeyboard(model.offered.identifier)
    }
    if model.form == .signUp {
      TextField(Word.username.text, text: $model.username)
    }
    if model.form != .reset, model.form != .secondFactor {
      SecureField(Word.password.text, text: $model.password)
        .passwordContent(isNew: model.form != .signIn)
        .onSubmit { model.submit() }
      Toggle(Word.remember.text, isOn: $model.remembers)
      if model.canKeepBiometric { Toggle(Word.biometricKeep.text, isOn: $model.keepsBiometric) }
    }
  }

  @ViewBuilder private var actions: some View {
    if model.offered.identifier != nil {
      button(.submit, submitWord) { model.submit() }.disabled(!model.canSubmit)
    }
    if model.offersBiometric, model.form == .signIn {
      button(.biometric, .biometricSignIn, systemImage: "faceid") { model.signInWithBiometric() }
      Button(Word.biometricRemove.text) { Task { await model.removeBiometric() } }
        .disabled(model.isWorking)
    }
    if model.offersBrowser {
      button(.browser, .browserSignIn, systemImage: "safari") { model.signInWithBrowser() }
    }
    if model.offersPasskeySignUp {
      button(.passkeySignUp, .passkeySignUp, systemImage: "person.badge.key") { model.signUpWithPasskey() }
    }
    if model.offersApple, isSignInOrUp {
      AppleButton(isNew: model.form == .signUp, isWorking: model.running == .apple) { model.signInWithApple() }
        .disabled(model.isWorking)
    }
    if model.offersPasskeys, model.form == .signIn {
      button(.passkey, .passkeySignIn, systemImage: "person.badge.key") { model.signInWithPasskey() }
    }
    if allowsGuests, model.offered.accounts, isSignInOrUp {
      button(.guest, .guest) { model.continueAsGuest() }
    }
    if model.isWorking {
      Button(Word.cancel.text, role: .cancel) {
        model.cancel()
        model.offerPasskeys()
      }
    }
  }

  /// A button for an operation, disabled while one is in progress.
  private func button(
    _ action: AuthViewModel.Action, _ word: Word, systemImage: String? = nil,
    start: @escaping @MainActor () -> Task<Void, Never>?
  ) -> some View {
    Button {
      _ = start()
    } label: {
      WorkingLabel(word, systemImage: systemImage, isWorking: model.running == action)
    }
    .disabled(model.isWorking)
  }

  @ViewBuilder private var links: some View {
    switch model.form {
    case .signIn:
      Button(Word.noAccount.text) { model.form = .signUp }
      Button(Word.forgotPassword.text) { model.form = .reset }
    case .signUp, .secondFactor, .confirm, .reset:
      Button(Word.haveAccount.text) { model.form = .signIn }
    }
  }

  private var isSignInOrUp: Bool { model.form == .signIn || model.form == .signUp }

  private var submitWord: Word {
    switch model.form {
    case .signIn, .secondFactor: .signIn
    case .signUp: .signUp
    case .confirm: .confirm
    case .reset: .sendReset
    }
  }
}

/// Apple's own button, which its guidelines ask for. The tap shows the model's sheet, so that there is one way to a credential.
private struct AppleButton: View {
  let isNew: Bool
  let isWorking: Bool
  let action: @MainActor @Sendable () -> Void

  var body: some View {
    #if canImport(UIKit) && !os(watchOS)
    AppleControl(isNew: isNew, action: action).frame(height: 44).overlay { if isWorking { ProgressView() } }
    #else
    Button(action: action) { WorkingLabel(.appleSignIn, systemImage: "apple.logo", isWorking: isWorking) }
    #endif
  }
}

#if canImport(UIKit) && !os(watchOS)
private struct AppleControl: UIViewRepresentable {
  let isNew: Bool
  let action: @MainActor @Sendable () -> Void

  func makeUIView(context: Context) -> ASAuthorizationAppleIDButton {
    let button = ASAuthorizationAppleIDButton(
      authorizationButtonType: isNew ? .signUp : .signIn, authorizationButtonStyle: .black)
    button.addAction(UIAction { _ in context.coordinator.action() }, for: .touchUpInside)
    return button
  }

  func updateUIView(_ button: ASAuthorizationAppleIDButton, context: Context) { context.coordinator.action = action }

  func makeCoordinator() -> Coordinator { Coordinator(action) }

  @MainActor final class Coordinator {
    var action: @MainActor @Sendable () -> Void
    init(_ action: @escaping @MainActor @Sendable () -> Void) { self.action = action }
  }
}
#endif

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
  /// Lets the system fill in the code of an authenticator app.
  @ViewBuilder func codeContent() -> some View {
    #if canImport(UIKit) && !os(watchOS)
    keyboardType(.numberPad).textContentType(.oneTimeCode)
    #else
    self
    #endif
  }

  /// Uses the keyboard for email addresses, where there is one.
  @ViewBuilder fileprivate func addressKeyboard(_ identifier: SignInOffer.Identifier?) -> some View {
    #if canImport(UIKit) && !os(watchOS)
    keyboardType(identifier == .email ? .emailAddress : .default).textInputAutocapitalization(.never)
      .textContentType(.username)
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
