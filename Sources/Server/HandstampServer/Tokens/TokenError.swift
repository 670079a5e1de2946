#if Server
/// A token, or the proof of possession beside it, that is not accepted.
enum TokenError: Error, Hashable {
  /// The token is damaged, of another issuer, for another audience, or has another nonce. Which of these is not reported.
  case invalid
  case expired
  /// The issuer's keys are not available at the moment. The text says why.
  case keysUnavailable(String)
  /// There is no proof of possession, or not one for this request.
  case proofInvalid
  /// The proof is valid, but has no nonce, or an expired one. The client must repeat the request with this one.
  case proofWantsNonce(String)
  /// The assertion of a client, or of an issuer that it trusts, is not accepted.
  case assertion(AssertionDefect)
  /// The event of a provider is not accepted.
  case event(UpstreamEventSource.Refusal)

  static func event(_ code: UpstreamEventSource.Refusal.Code, _ words: String) -> TokenError {
    .event(UpstreamEventSource.Refusal(code: code, words: words))
  }
}
#endif
