public import HandstampCore

extension RefreshResult {
  /// The new tokens.
  ///
  /// - Throws: ``ConformanceError`` for any other result.
  public func get() throws(ConformanceError) -> TokenResponse {
    guard case .granted(let tokens) = self else {
      throw ConformanceError("a refresh returns new tokens", found: "\(self)")
    }
    return tokens
  }
}

extension SignUpResponse {
  /// The tokens of a sign-up without confirmation.
  ///
  /// - Throws: ``ConformanceError`` if the server wants the address confirmed first.
  public func get() throws(ConformanceError) -> TokenResponse {
    guard case .signedIn(let tokens) = self else { throw ConformanceError("a sign-up signs in", found: "a mail") }
    return tokens
  }
}

extension Backend {
  package func refresh(_ token: RefreshToken, key: RotationKey) async -> RefreshResult {
    await refresh(RefreshRequest(token: token, key: key))
  }
}
